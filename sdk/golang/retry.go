package agentkernel

import (
	"errors"
	"math/rand"
	"net/http"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	// Whoever is told to wait for longer decides about it.
	maxPause = 30 * time.Second
)

// pauseBeforeRetry tells how long to wait before a request is sent once more, and whether it may be: where nothing of it
// reached the server, where the server refused it before doing anything, and where it only reads. Never a command that
// may have run.
func pauseBeforeRetry(err error, method string, attempt int) (time.Duration, bool) {
	backOff := time.Duration(float64(firstPause<<attempt) * (0.5 + rand.Float64()/2))
	var transport *TransportError
	if errors.As(err, &transport) {
		return backOff, transport.Unsent || method == http.MethodGet
	}
	var refused *Error
	if !errors.As(err, &refused) || !mayRepeat(refused, method) {
		return 0, false
	}
	if refused.RetryAfter < 0 {
		return backOff, true
	}
	return refused.RetryAfter, refused.RetryAfter <= maxPause
}

func mayRepeat(refused *Error, method string) bool {
	if refused.Code == ErrTooManyRequests.Code {
		return true
	}
	switch refused.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return method == http.MethodGet
	}
	return false
}
