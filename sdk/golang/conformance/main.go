// Conformance does what sdk/conformance/scenarios.json says, by this SDK, and writes what came of each step as a line of
// JSON. Whether that is right is judged by whoever started it.
//
//	conformance scenarios.json real|scripted
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	agentkernel "agentkernel/sdk/golang"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path, server string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	names := strings.NewReplacer("{name}", os.Getenv("CONFORMANCE_NAME"), "{dir}", os.Getenv("CONFORMANCE_DIR"))
	var file struct{ Scenarios []json.RawMessage }
	if err := json.Unmarshal([]byte(names.Replace(string(text))), &file); err != nil {
		return err
	}
	for _, text := range file.Scenarios {
		var asked struct{ Server string }
		if err := json.Unmarshal(text, &asked); err != nil {
			return err
		}
		if asked.Server != server {
			continue
		}
		var one scenario
		strictly(text, &one)
		if err := play(one); err != nil {
			return err
		}
	}
	return nil
}

func play(one scenario) error {
	config := &agentkernel.Config{
		APIKey:         one.Client.APIKey,
		RequestTimeout: time.Duration(one.Client.RequestTimeoutMs) * time.Millisecond,
	}
	if one.Client.MaxRetries != nil && *one.Client.MaxRetries == 0 {
		config.MaxRetries = -1
	}
	if one.Server == "scripted" {
		config.BaseURL = os.Getenv("CONFORMANCE_SCRIPTED_URL") + "/" + one.ID
	}
	client := agentkernel.New(config)
	if one.Server == "local" {
		started, err := agentkernel.Local(context.Background(), config)
		if err != nil {
			return err
		}
		client = started
	}
	defer client.Close()
	made := &made{client, map[string]*agentkernel.Session{}}
	for index, step := range one.Steps {
		if step.Skip["golang"] != "" {
			continue
		}
		line := map[string]any{"scenario": one.ID, "step": index}
		outcome(made, step, line)
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	}
	return nil
}

func outcome(made *made, step step, line map[string]any) {
	ctx := context.Background()
	if step.CancelAfterMs > 0 {
		limited, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(time.Duration(step.CancelAfterMs)*time.Millisecond, cancel)
		defer timer.Stop()
		ctx = limited
	}
	if step.Call == "stream" || step.Call == "exec_stream" {
		events, err := made.listen(ctx, step)
		line["events"] = events
		if err != nil {
			line["error"] = errorShown(err)
		}
		return
	}
	result, err := made.do(ctx, step)
	if err != nil {
		line["error"] = errorShown(err)
		return
	}
	line["result"] = result
}

func (m *made) listen(ctx context.Context, step step) ([]map[string]any, error) {
	events := []map[string]any{}
	var stream *agentkernel.Stream
	var err error
	if step.Call == "stream" {
		stream, err = m.client.Stream(ctx, step.Command, step.runOptions())
	} else {
		stream, err = m.sandboxes[step.On].ExecStream(ctx, step.Command, step.execOptions())
	}
	if err != nil {
		return events, err
	}
	defer stream.Close()
	for stream.Next() {
		event := stream.Event()
		shown := map[string]any{"type": event.Type}
		switch event.Type {
		case "started":
			shown["sandbox"] = event.Sandbox
		case "exit":
			shown["code"], shown["timed_out"] = event.Code, event.TimedOut
		default:
			shown["text"] = event.Text()
			if strings.Contains(string(step.Options), "base64") {
				shown["base64"] = base64.StdEncoding.EncodeToString(event.Data)
			}
		}
		events = append(events, shown)
		if event.Type == step.LeaveAfter {
			return events, nil
		}
	}
	return events, stream.Err()
}

func errorShown(err error) map[string]any {
	var refused *agentkernel.Error
	var late *agentkernel.TimeoutError
	var transport *agentkernel.TransportError
	var bad *agentkernel.BadAnswerError
	switch {
	case errors.As(err, &refused):
		shown := map[string]any{"kind": "api", "code": refused.Code, "status": refused.Status, "hint": refused.Hint}
		shown["retryable"], shown["has_message"] = refused.Retryable(), refused.Message != ""
		shown["retry_after_ms"] = refused.RetryAfter.Milliseconds()
		return shown
	case errors.As(err, &late):
		return map[string]any{"kind": "timeout"}
	case errors.As(err, &transport):
		return map[string]any{"kind": "transport", "message": err.Error()}
	case errors.As(err, &bad):
		return map[string]any{"kind": "bad_answer"}
	case errors.Is(err, context.Canceled):
		return map[string]any{"kind": "cancelled"}
	}
	return map[string]any{"kind": "unexpected", "message": err.Error()}
}
