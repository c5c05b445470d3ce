package agentkernel

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// Event is something heard of a command while it runs.
type Event struct {
	// Type is one of started, stdout, stderr, exit.
	Type string
	// Data is output. With Encoding "base64" every byte is kept; otherwise what is not UTF-8 is replaced.
	Data []byte
	// Sandbox is where it runs; of started and exit.
	Sandbox string
	// Code is how it ended; of exit.
	Code int
	// DurationMs is from the request to the end; of exit.
	DurationMs float64
	// TimedOut: the time limit ended it; of exit.
	TimedOut bool
}

// Text is output as text.
func (e Event) Text() string { return string(e.Data) }

// Stream is a command that is heard while it runs:
//
//	for stream.Next() {
//		event := stream.Event()
//	}
//	err := stream.Err()
type Stream struct {
	response *http.Response
	events   eventReader
	limit    *deadline
	event    Event
	err      error
	isDone   bool
}

func (c *connection) stream(ctx context.Context, path string, body any) (*Stream, error) {
	limit := newDeadline(ctx, c.requestTimeout)
	response, err := c.open(limit, request{method: http.MethodPost, path: path, json: body})
	if err != nil {
		limit.end()
		return nil, err
	}
	events := eventReader{in: bufio.NewReader(restarting{response.Body, limit})}
	return &Stream{response: response, events: events, limit: limit}, nil
}

// Next waits for the next event. It answers false after the exit, and where something failed.
func (s *Stream) Next() bool {
	for !s.isDone && s.err == nil {
		name, data, err := s.events.next()
		if errors.Is(err, io.EOF) {
			err = errors.New("the stream ended before the command did")
		}
		if err != nil {
			s.fail(s.limit.explain(err))
			return false
		}
		event, isKnown, err := readEvent(name, data)
		if err != nil {
			s.fail(err)
			return false
		}
		if isKnown {
			s.event, s.isDone = event, event.Type == "exit"
			return true
		}
	}
	return false
}

// Event is the one that Next waited for.
func (s *Stream) Event() Event { return s.event }

// Err tells what failed; nil after an exit.
func (s *Stream) Err() error { return s.err }

// Close hangs up, which ends the command if it still runs.
func (s *Stream) Close() error {
	s.isDone = true
	s.limit.end()
	return s.response.Body.Close()
}

func (s *Stream) fail(err error) {
	s.err = err
	s.limit.end()
}

func readEvent(name, data string) (event Event, isKnown bool, err error) {
	body := struct {
		Text       string  `json:"text"`
		Base64     *string `json:"base64"`
		Sandbox    string  `json:"sandbox"`
		Code       int     `json:"code"`
		DurationMs float64 `json:"duration_ms"`
		TimedOut   bool    `json:"timed_out"`
	}{}
	switch name {
	case "error":
		failure := &Error{RetryAfter: -1}
		if json.Unmarshal([]byte(data), failure) != nil {
			return event, false, &BadAnswerError{"the event error is not in the form that it should be"}
		}
		return event, false, failure
	case "started", "stdout", "stderr", "exit":
		err = json.Unmarshal([]byte(data), &body)
	default:
		return event, false, nil
	}
	event = Event{name, []byte(body.Text), body.Sandbox, body.Code, body.DurationMs, body.TimedOut}
	if err == nil && body.Base64 != nil {
		event.Data, err = base64.StdEncoding.DecodeString(*body.Base64)
	}
	if err != nil {
		return event, false, &BadAnswerError{"the event " + name + " is not in the form that it should be"}
	}
	return event, true, nil
}
