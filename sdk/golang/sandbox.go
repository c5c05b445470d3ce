package agentkernel

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Sandboxes are those that stay, by their names.
type Sandboxes struct{ connection *connection }

// Create makes one, and starts it unless Start is false.
func (s *Sandboxes) Create(ctx context.Context, name string, options *CreateOptions) (*Sandbox, error) {
	body := struct {
		Name string `json:"name"`
		*CreateOptions
	}{name, options}
	return s.sandbox(ctx, request{method: http.MethodPost, path: "/sandboxes", json: body})
}

// Get answers with ErrNotFound where there is none of that name.
func (s *Sandboxes) Get(ctx context.Context, name string) (*Sandbox, error) {
	return s.sandbox(ctx, request{method: http.MethodGet, path: "/sandboxes/" + url.PathEscape(name)})
}

// List is sorted by name: all, or those in one state.
func (s *Sandboxes) List(ctx context.Context, state string) ([]SandboxInfo, error) {
	query := url.Values{}
	if state != "" {
		query.Set("state", state)
	}
	answer := struct {
		Sandboxes []SandboxInfo `json:"sandboxes"`
	}{}
	err := s.connection.data(ctx, request{method: http.MethodGet, path: "/sandboxes", query: query}, &answer)
	return answer.Sandboxes, err
}

func (s *Sandboxes) sandbox(ctx context.Context, asked request) (*Sandbox, error) {
	info := SandboxInfo{}
	if err := s.connection.data(ctx, asked, &info); err != nil {
		return nil, err
	}
	path := "/sandboxes/" + url.PathEscape(info.Name)
	return &Sandbox{info.Name, &Files{s.connection, path}, info, s.connection, path}, nil
}

// Sandbox is one that stays: what runs in it, its files, and its states.
type Sandbox struct {
	Name  string
	Files *Files

	info       SandboxInfo
	connection *connection
	path       string
}

// Info is as it was when it was last asked about or changed from here.
func (s *Sandbox) Info() SandboxInfo { return s.info }

// Refresh asks how it is now.
func (s *Sandbox) Refresh(ctx context.Context) (SandboxInfo, error) {
	return s.become(ctx, request{method: http.MethodGet, path: s.path})
}

// Exec runs a command. One that fails is a result too.
func (s *Sandbox) Exec(ctx context.Context, command []string, options *ExecOptions) (*ExecResult, error) {
	body := newExecBody(command, options)
	asked := request{method: http.MethodPost, path: s.path + "/exec", json: body, command: commandTime(body.TimeoutMs)}
	return fetch[ExecResult](ctx, s.connection, asked)
}

// ExecStream does the same, heard while it runs. Close it; that ends the command.
func (s *Sandbox) ExecStream(ctx context.Context, command []string, options *ExecOptions) (*Stream, error) {
	return s.connection.stream(ctx, s.path+"/exec/stream", newExecBody(command, options))
}

// ExecDetached lets it run on; Logs has its output and its end.
func (s *Sandbox) ExecDetached(ctx context.Context, command []string, options *ExecOptions) (*DetachedExec, error) {
	body := newExecBody(command, options)
	body.Detach = true
	asked := request{method: http.MethodPost, path: s.path + "/exec", json: body}
	return fetch[DetachedExec](ctx, s.connection, asked)
}

// Logs are output and end of detached commands, oldest first: of all, or of one.
func (s *Sandbox) Logs(ctx context.Context, exec string) ([]ExecLog, error) {
	query := url.Values{}
	if exec != "" {
		query.Set("exec", exec)
	}
	answer := struct {
		Execs []ExecLog `json:"execs"`
	}{}
	err := s.connection.data(ctx, request{method: http.MethodGet, path: s.path + "/logs", query: query}, &answer)
	return answer.Execs, err
}

// Start starts it.
func (s *Sandbox) Start(ctx context.Context) (SandboxInfo, error) { return s.act(ctx, "/start") }

// Stop ends all that runs in it; its files stay.
func (s *Sandbox) Stop(ctx context.Context) (SandboxInfo, error) { return s.act(ctx, "/stop") }

// Pause freezes it.
func (s *Sandbox) Pause(ctx context.Context) (SandboxInfo, error) { return s.act(ctx, "/pause") }

// Resume lets it go on.
func (s *Sandbox) Resume(ctx context.Context) (SandboxInfo, error) { return s.act(ctx, "/resume") }

// SnapshotOptions says what a snapshot is made of.
type SnapshotOptions struct {
	// Memory false: files alone, also where memory could be had (true).
	Memory *bool `json:"memory,omitempty"`
}

// Snapshot keeps what it has written, under this name or, where it is empty, one of the server's; of a machine that runs, its memory too, unless Memory is false.
func (s *Sandbox) Snapshot(ctx context.Context, name string, options *SnapshotOptions) (*Snapshot, error) {
	body := struct {
		Name string `json:"name,omitempty"`
		SnapshotOptions
	}{Name: name}
	if options != nil {
		body.SnapshotOptions = *options
	}
	return fetch[Snapshot](ctx, s.connection, request{method: http.MethodPost, path: s.path + "/snapshot", json: body})
}

// Fork makes a second sandbox with everything that it has written, and starts it unless Start is false.
func (s *Sandbox) Fork(ctx context.Context, name string, options *CopyOptions) (*Sandbox, error) {
	return copied(ctx, s.connection, s.path+"/fork", name, options)
}

// Remove removes it with all that is in it; force: also where it runs.
func (s *Sandbox) Remove(ctx context.Context, force bool) error {
	query := url.Values{}
	if force {
		query.Set("force", "true")
	}
	return s.connection.data(ctx, request{method: http.MethodDelete, path: s.path, query: query}, &struct{}{})
}

// Stats is what it uses.
func (s *Sandbox) Stats(ctx context.Context) (*Stats, error) {
	return fetch[Stats](ctx, s.connection, request{method: http.MethodGet, path: s.path + "/stats"})
}

// Diff is what it changed in the project.
func (s *Sandbox) Diff(ctx context.Context) (*Diff, error) {
	return fetch[Diff](ctx, s.connection, request{method: http.MethodGet, path: s.path + "/diff"})
}

// Patch is the same, as git apply takes it.
func (s *Sandbox) Patch(ctx context.Context) ([]byte, error) {
	query := url.Values{"format": {"patch"}}
	return s.connection.content(ctx, request{method: http.MethodGet, path: s.path + "/diff", query: query})
}

// Apply takes its changes over into the project on the host: all, or those at and below the paths.
func (s *Sandbox) Apply(ctx context.Context, paths ...string) (*Changes, error) {
	body := struct {
		Paths []string `json:"paths,omitempty"`
	}{paths}
	return fetch[Changes](ctx, s.connection, request{method: http.MethodPost, path: s.path + "/apply", json: body})
}

func (s *Sandbox) act(ctx context.Context, action string) (SandboxInfo, error) {
	return s.become(ctx, request{method: http.MethodPost, path: s.path + action})
}

func (s *Sandbox) become(ctx context.Context, asked request) (SandboxInfo, error) {
	info := SandboxInfo{}
	if err := s.connection.data(ctx, asked, &info); err != nil {
		return s.info, err
	}
	s.info = info
	return info, nil
}

// Session is a sandbox that is removed with its owner: defer session.Close().
type Session struct{ *Sandbox }

const closeTime = time.Minute

// Close removes the sandbox, with whatever runs in it, also where the context of other calls has ended. A second call
// does nothing.
func (s *Session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := s.Remove(ctx, true); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
}
