package agentkernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// connection sends requests to one server: with its key, within their time, and again where that is safe.
type connection struct {
	place          place
	placeErr       error
	apiKey         string
	requestTimeout time.Duration
	maxRetries     int
	http           *http.Client
}

type request struct {
	method string
	path   string
	query  url.Values
	json   any
	bytes  []byte
	// Time limits of the commands that it is about.
	command time.Duration
}

// data reads what is in the envelope into result.
func (c *connection) data(ctx context.Context, r request, result any) error {
	body, err := c.content(ctx, r)
	if err != nil {
		return err
	}
	envelope := struct {
		Success bool            `json:"success"`
		Data    json.RawMessage `json:"data"`
	}{}
	if json.Unmarshal(body, &envelope) != nil || !envelope.Success {
		return &BadAnswerError{"the answer has no data"}
	}
	if err := json.Unmarshal(envelope.Data, result); err != nil {
		return &BadAnswerError{"the answer is not in the form that it should be: " + err.Error()}
	}
	return nil
}

// fetch is data, with a result of its own.
func fetch[T any](ctx context.Context, c *connection, r request) (*T, error) {
	result := new(T)
	if err := c.data(ctx, r, result); err != nil {
		return nil, err
	}
	return result, nil
}

func (c *connection) content(ctx context.Context, r request) ([]byte, error) {
	limit := newDeadline(ctx, r.command+c.requestTimeout)
	defer limit.end()
	response, err := c.open(limit, r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return body, limit.explain(err)
}

// open answers with what is not an error, and of which only the head was read.
func (c *connection) open(limit *deadline, r request) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		response, err := c.send(limit, r)
		if err == nil {
			return response, nil
		}
		pause, may := pauseBeforeRetry(err, r.method, attempt)
		if !may || attempt >= c.maxRetries {
			return nil, err
		}
		select {
		case <-limit.ctx.Done():
			return nil, limit.explain(limit.ctx.Err())
		case <-time.After(pause):
		}
	}
}

func (c *connection) send(limit *deadline, r request) (*http.Response, error) {
	if c.placeErr != nil {
		return nil, c.placeErr
	}
	wire, err := c.wire(limit.ctx, r)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(wire)
	if err != nil {
		return nil, limit.explain(err)
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, limit.explain(err)
	}
	return nil, refusal(body, response)
}

func (c *connection) wire(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	kind := ""
	switch {
	case r.json != nil:
		text, err := json.Marshal(r.json)
		if err != nil {
			return nil, err
		}
		body, kind = bytes.NewReader(text), "application/json"
	case r.bytes != nil:
		body, kind = bytes.NewReader(r.bytes), "application/octet-stream"
	}
	address := c.place.url + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	wire, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		wire.Header.Set("Content-Type", kind)
	}
	key := c.apiKey
	if key == "" {
		key = c.place.localToken()
	}
	if key != "" {
		wire.Header.Set("Authorization", "Bearer "+key)
	}
	return wire, nil
}

func refusal(body []byte, response *http.Response) error {
	failure := struct {
		Error *Error `json:"error"`
	}{}
	if json.Unmarshal(body, &failure) != nil || failure.Error == nil || failure.Error.Code == "" {
		return &BadAnswerError{"the answer was " + response.Status + ", and not in the form of agentkernel's errors"}
	}
	failure.Error.Status = response.StatusCode
	failure.Error.RetryAfter = -1
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		failure.Error.RetryAfter = time.Duration(seconds) * time.Second
	}
	return failure.Error
}

func newHTTP(at place) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if at.socket != "" {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", at.socket)
		}
	}
	return &http.Client{
		Transport: transport,
		// A redirect would take the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func isUnsent(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "dial"
}
