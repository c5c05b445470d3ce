// Package agentkernel is the SDK for Go: the HTTP API of agentkernel as calls with types. It runs nothing itself, and
// needs nothing but the standard library.
package agentkernel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"time"
)

// Config says which server is asked, and how. Every field may be left out.
type Config struct {
	// BaseURL is http://host:port, https://host:port or unix:///path; otherwise AGENTKERNEL_BASE_URL, the socket of the
	// user's daemon, or http://localhost:8080.
	BaseURL string
	// APIKey is an API key or a JWT; otherwise AGENTKERNEL_API_KEY, else the token of the user's own server on loopback.
	APIKey string
	// RequestTimeout is how long an answer may take beyond the time limits of its commands (2 minutes); of a stream, how
	// long nothing at all may come.
	RequestTimeout time.Duration
	// MaxRetries is how often a request is sent again where that is safe (2); negative: never.
	MaxRetries int
	// Program is the command line that Local starts; otherwise AGENTKERNEL_PROGRAM, else agentkernel on the PATH.
	Program string
}

// Client is a server of agentkernel. It can be used by many goroutines at once.
type Client struct {
	// Sandboxes are those that stay, by their names.
	Sandboxes *Sandboxes
	// Snapshots are what was kept of sandboxes.
	Snapshots *Snapshots

	connection *connection
}

// Of a session whose program died, so that nothing is left for ever.
const sessionTTL = "24h"

// New makes a client. Nothing is asked yet; a base URL that makes no sense is told by the first call.
func New(config *Config) *Client {
	own := Config{}
	if config != nil {
		own = *config
	}
	if own.APIKey == "" {
		own.APIKey = os.Getenv("AGENTKERNEL_API_KEY")
	}
	if own.RequestTimeout == 0 {
		own.RequestTimeout = 2 * time.Minute
	}
	if own.MaxRetries == 0 {
		own.MaxRetries = 2
	}
	at, err := findPlace(own.BaseURL)
	shared := &connection{at, err, own.APIKey, own.RequestTimeout, own.MaxRetries, newHTTP(at)}
	return &Client{Sandboxes: &Sandboxes{shared}, Snapshots: &Snapshots{shared}, connection: shared}
}

// Run runs a command in a sandbox of its own. A command that fails is a result too: ExitCode says how it ended.
func (c *Client) Run(ctx context.Context, command []string, options *RunOptions) (*RunResult, error) {
	body := newRunBody(command, options)
	asked := request{method: http.MethodPost, path: "/run", json: body, command: commandTime(body.TimeoutMs)}
	return fetch[RunResult](ctx, c.connection, asked)
}

// Stream does the same, heard while it runs. Close it; that ends the command.
func (c *Client) Stream(ctx context.Context, command []string, options *RunOptions) (*Stream, error) {
	return c.connection.stream(ctx, "/run/stream", newRunBody(command, options))
}

// BatchCommand is one of several.
type BatchCommand struct {
	Command []string
	Options *RunOptions
}

// BatchResult has one of both.
type BatchResult struct {
	Result *RunResult
	// Err is an *Error: the command could not be run.
	Err error
}

// Batch runs several commands side by side, each in a sandbox of its own, parallel at once (0: all). Results are in the
// order of the commands.
func (c *Client) Batch(ctx context.Context, commands []BatchCommand, parallel int) ([]BatchResult, error) {
	body := struct {
		Commands []runBody `json:"commands"`
		Parallel int       `json:"parallel,omitempty"`
	}{Parallel: parallel}
	var total time.Duration
	for _, one := range commands {
		own := newRunBody(one.Command, one.Options)
		body.Commands = append(body.Commands, own)
		total += commandTime(own.TimeoutMs)
	}
	answer := struct {
		Results []struct {
			Success bool            `json:"success"`
			Data    json.RawMessage `json:"data"`
			Error   *Error          `json:"error"`
		} `json:"results"`
	}{}
	asked := request{method: http.MethodPost, path: "/batch/run", json: body, command: total}
	if err := c.connection.data(ctx, asked, &answer); err != nil {
		return nil, err
	}
	results := make([]BatchResult, len(answer.Results))
	for index, one := range answer.Results {
		if !one.Success && one.Error != nil {
			one.Error.RetryAfter = -1
			results[index].Err = one.Error
			continue
		}
		results[index].Result = &RunResult{}
		if err := json.Unmarshal(one.Data, results[index].Result); err != nil {
			return nil, &BadAnswerError{"a result is not in the form that it should be: " + err.Error()}
		}
	}
	return results, nil
}

// Session makes a sandbox for many commands. It is removed when it is closed, and after a day in any case (TTL).
func (c *Client) Session(ctx context.Context, options *CreateOptions) (*Session, error) {
	own := CreateOptions{}
	if options != nil {
		own = *options
	}
	if own.TTL == "" {
		own.TTL = sessionTTL
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	sandbox, err := c.Sandboxes.Create(ctx, "session-"+hex.EncodeToString(random), &own)
	if err != nil {
		return nil, err
	}
	return &Session{sandbox}, nil
}

// Health tells whether the server takes requests.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return fetch[Health](ctx, c.connection, request{method: http.MethodGet, path: "/health"})
}

// Version tells which version the server is.
func (c *Client) Version(ctx context.Context) (*Version, error) {
	return fetch[Version](ctx, c.connection, request{method: http.MethodGet, path: "/version"})
}

// Close lets idle connections go. Sessions are closed on their own.
func (c *Client) Close() { c.connection.http.CloseIdleConnections() }
