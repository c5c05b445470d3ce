package agentkernel

import (
	"fmt"
	"time"
)

// Error is what the server refused, and why. errors.Is(err, agentkernel.ErrNotFound) compares codes.
type Error struct {
	// Code is one of spec/errors.json; a newer server may know more.
	Code string `json:"code"`
	// Message says what failed and why.
	Message string `json:"message"`
	// Hint says what to do next.
	Hint string `json:"hint"`
	// Details are more, by code.
	Details map[string]any `json:"details"`
	// Status is that of HTTP; 0 where the error came within a stream or a batch.
	Status int `json:"-"`
	// RetryAfter is how long the server wants to be left alone; negative where it does not say.
	RetryAfter time.Duration `json:"-"`
}

func (e *Error) Error() string { return fmt.Sprintf("agentkernel: %s (%s)", e.Message, e.Code) }

// Is tells whether both have one code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// TransportError: the server was not reached, or the connection broke.
type TransportError struct {
	Err error
	// Unsent: nothing of the request can have reached the server.
	Unsent bool
}

const startHint = "; start a server with \"agentkernel daemon start\" or \"agentkernel serve\", or name another in AGENTKERNEL_BASE_URL"

func (e *TransportError) Error() string {
	if e.Unsent {
		return "agentkernel: " + e.Err.Error() + startHint
	}
	return "agentkernel: " + e.Err.Error()
}
func (e *TransportError) Unwrap() error { return e.Err }

// TimeoutError: the answer did not come in time. A command has a limit of its own, TimeoutMs, whose end is a result.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("agentkernel: no answer within %s", e.After)
}

// Timeout makes it one to those who ask by interface.
func (e *TimeoutError) Timeout() bool { return true }

// BadAnswerError: something answered that is not agentkernel, or of another version.
type BadAnswerError struct{ Reason string }

func (e *BadAnswerError) Error() string { return "agentkernel: " + e.Reason }
