package agentkernel

import (
	"context"
	"net/http"
	"net/url"
)

// Snapshots are what was kept of sandboxes: files as they were at one moment and, of machines that ran, memory.
type Snapshots struct{ connection *connection }

// List is sorted by name.
func (s *Snapshots) List(ctx context.Context) ([]Snapshot, error) {
	answer := struct {
		Snapshots []Snapshot `json:"snapshots"`
	}{}
	err := s.connection.data(ctx, request{method: http.MethodGet, path: "/snapshots"}, &answer)
	return answer.Snapshots, err
}

// Get answers with ErrNotFound where there is none of that name.
func (s *Snapshots) Get(ctx context.Context, name string) (*Snapshot, error) {
	return fetch[Snapshot](ctx, s.connection, request{method: http.MethodGet, path: snapshotPath(name)})
}

// Remove removes it. Sandboxes that were made of it stay.
func (s *Snapshots) Remove(ctx context.Context, name string) error {
	return s.connection.data(ctx, request{method: http.MethodDelete, path: snapshotPath(name)}, &struct{}{})
}

// Restore makes a sandbox of a snapshot, and starts it unless Start is false.
func (s *Snapshots) Restore(ctx context.Context, snapshot, name string, options *CopyOptions) (*Sandbox, error) {
	return copied(ctx, s.connection, snapshotPath(snapshot)+"/restore", name, options)
}

func snapshotPath(name string) string { return "/snapshots/" + url.PathEscape(name) }

func copied(ctx context.Context, from *connection, path, name string, options *CopyOptions) (*Sandbox, error) {
	body := struct {
		Name string `json:"name"`
		*CopyOptions
	}{name, options}
	all := &Sandboxes{from}
	return all.sandbox(ctx, request{method: http.MethodPost, path: path, json: body})
}
