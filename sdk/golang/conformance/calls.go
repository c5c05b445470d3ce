package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"strconv"

	agentkernel "agentkernel/sdk/golang"
)

type scenario struct {
	ID     string `json:"id"`
	Server string `json:"server"`
	Client struct {
		APIKey           string `json:"api_key"`
		RequestTimeoutMs int    `json:"request_timeout_ms"`
		MaxRetries       *int   `json:"max_retries"`
	} `json:"client"`
	Steps []step `json:"steps"`
	// For whoever judges.
	About            string            `json:"about"`
	MayBeUnsupported bool              `json:"may_be_unsupported"`
	Script           []json.RawMessage `json:"script"`
	Requests         []json.RawMessage `json:"requests"`
}

type step struct {
	Call          string            `json:"call"`
	Command       []string          `json:"command"`
	Commands      []step            `json:"commands"`
	Parallel      int               `json:"parallel"`
	Options       json.RawMessage   `json:"options"`
	StdinBase64   string            `json:"stdin_base64"`
	Name          string            `json:"name"`
	On            string            `json:"on"`
	As            string            `json:"as"`
	NameOf        string            `json:"name_of"`
	From          string            `json:"from"`
	State         string            `json:"state"`
	Force         bool              `json:"force"`
	Memory        *bool             `json:"memory"`
	Path          string            `json:"path"`
	Paths         []string          `json:"paths"`
	Content       *string           `json:"content"`
	Base64        string            `json:"base64"`
	Mode          string            `json:"mode"`
	Recursive     bool              `json:"recursive"`
	LeaveAfter    string            `json:"leave_after"`
	CancelAfterMs int               `json:"cancel_after_ms"`
	Skip          map[string]string `json:"skip"`
	// Of terminals, which this SDK has not, and for whoever judges.
	Cols   int             `json:"cols"`
	Rows   int             `json:"rows"`
	Typed  string          `json:"typed"`
	Expect json.RawMessage `json:"expect"`
}

// strictly reads JSON, and ends the runner at a field that it does not know: an option that goes missing would pass
// every test.
func strictly(text []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		panic(err)
	}
}

func options[T any](s step) *T {
	read := new(T)
	if s.Options != nil {
		strictly(s.Options, read)
	}
	return read
}

func (s step) runOptions() *agentkernel.RunOptions {
	own := options[agentkernel.RunOptions](s)
	if s.StdinBase64 != "" {
		own.Stdin = string(decoded(s.StdinBase64))
	}
	return own
}

func (s step) execOptions() *agentkernel.ExecOptions { return options[agentkernel.ExecOptions](s) }

type made struct {
	client    *agentkernel.Client
	sandboxes map[string]*agentkernel.Session
}

// do is what each call of a scenario is in this SDK.
func (m *made) do(ctx context.Context, s step) (any, error) {
	switch s.Call {
	case "health":
		return m.client.Health(ctx)
	case "version":
		return m.client.Version(ctx)
	case "run":
		return m.client.Run(ctx, s.Command, s.runOptions())
	case "batch":
		return m.batch(ctx, s)
	case "session":
		session, err := m.client.Session(ctx, options[agentkernel.CreateOptions](s))
		return m.keep(s, session, err)
	case "scoped":
		return m.scoped(ctx, s)
	case "create":
		sandbox, err := m.client.Sandboxes.Create(ctx, s.Name, options[agentkernel.CreateOptions](s))
		return m.keep(s, &agentkernel.Session{Sandbox: sandbox}, err)
	case "snapshots":
		found, err := m.client.Snapshots.List(ctx)
		names := []string{}
		for _, one := range found {
			names = append(names, one.Name)
		}
		return map[string]any{"names": names}, err
	case "get_snapshot":
		return m.client.Snapshots.Get(ctx, s.Name)
	case "remove_snapshot":
		return struct{}{}, m.client.Snapshots.Remove(ctx, s.Name)
	case "restore":
		sandbox, err := m.client.Snapshots.Restore(ctx, s.From, s.Name, options[agentkernel.CopyOptions](s))
		return m.keep(s, &agentkernel.Session{Sandbox: sandbox}, err)
	case "get":
		if s.NameOf != "" {
			s.Name = m.sandboxes[s.NameOf].Name
		}
		sandbox, err := m.client.Sandboxes.Get(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		return sandbox.Info(), nil
	case "list":
		found, err := m.client.Sandboxes.List(ctx, s.State)
		names := []string{}
		for _, one := range found {
			names = append(names, one.Name)
		}
		return map[string]any{"names": names}, err
	}
	return m.doOn(ctx, s, m.sandboxes[s.On])
}

func (m *made) doOn(ctx context.Context, s step, on *agentkernel.Session) (any, error) {
	none := struct{}{}
	switch s.Call {
	case "close":
		return none, on.Close()
	case "start":
		return on.Start(ctx)
	case "stop":
		return on.Stop(ctx)
	case "pause":
		return on.Pause(ctx)
	case "resume":
		return on.Resume(ctx)
	case "snapshot":
		return on.Snapshot(ctx, s.Name, &agentkernel.SnapshotOptions{Memory: s.Memory})
	case "fork":
		sandbox, err := on.Fork(ctx, s.Name, options[agentkernel.CopyOptions](s))
		return m.keep(s, &agentkernel.Session{Sandbox: sandbox}, err)
	case "remove":
		return none, on.Remove(ctx, s.Force)
	case "stats":
		return on.Stats(ctx)
	case "diff":
		return on.Diff(ctx)
	case "patch":
		patch, err := on.Patch(ctx)
		return map[string]any{"patch": string(patch)}, err
	case "apply":
		return on.Apply(ctx, s.Paths...)
	case "exec":
		return on.Exec(ctx, s.Command, s.execOptions())
	case "exec_detached":
		return on.ExecDetached(ctx, s.Command, s.execOptions())
	case "logs":
		execs, err := on.Logs(ctx, "")
		return map[string]any{"execs": execs}, err
	case "read":
		content, err := on.Files.Read(ctx, s.Path)
		return map[string]any{"base64": base64.StdEncoding.EncodeToString(content)}, err
	case "write":
		content := decoded(s.Base64)
		if s.Content != nil {
			content = []byte(*s.Content)
		}
		mode, _ := strconv.ParseUint("0"+s.Mode, 8, 32)
		return on.Files.Write(ctx, s.Path, content, fs.FileMode(mode))
	case "make_folder":
		return on.Files.MakeFolder(ctx, s.Path)
	case "list_files":
		return on.Files.List(ctx, s.Path)
	case "remove_file":
		return none, on.Files.Remove(ctx, s.Path, s.Recursive)
	}
	panic("no such call: " + s.Call)
}

func (m *made) scoped(ctx context.Context, s step) (any, error) {
	inside, err := func() (agentkernel.SandboxInfo, error) {
		session, err := m.client.Session(ctx, options[agentkernel.CreateOptions](s))
		if err != nil {
			return agentkernel.SandboxInfo{}, err
		}
		defer session.Close()
		return session.Info(), nil
	}()
	if err != nil {
		return nil, err
	}
	after := "there"
	if _, err := m.client.Sandboxes.Get(ctx, inside.Name); errors.Is(err, agentkernel.ErrNotFound) {
		after = agentkernel.ErrNotFound.Code
	}
	return map[string]any{"inside": inside.State, "after": after}, nil
}

func (m *made) batch(ctx context.Context, s step) (any, error) {
	commands := []agentkernel.BatchCommand{}
	for _, one := range s.Commands {
		commands = append(commands, agentkernel.BatchCommand{Command: one.Command, Options: one.runOptions()})
	}
	results, err := m.client.Batch(ctx, commands, s.Parallel)
	shown := []any{}
	for _, one := range results {
		if one.Err != nil {
			shown = append(shown, map[string]any{"error": errorShown(one.Err)})
		} else {
			shown = append(shown, one.Result)
		}
	}
	return map[string]any{"results": shown}, err
}

func (m *made) keep(s step, session *agentkernel.Session, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	m.sandboxes[s.As] = session
	return session.Info(), nil
}

func decoded(text string) []byte {
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return content
}
