package agentkernel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
)

// Local makes a client of the user's own daemon on this machine, which is started where none is up; such a one ends after
// an hour with nothing to do. The base URL and the key of the configuration have no say.
func Local(ctx context.Context, config *Config) (*Client, error) {
	own := Config{}
	if config != nil {
		own = *config
	}
	program := own.Program
	if program == "" {
		program = os.Getenv("AGENTKERNEL_PROGRAM")
	}
	if program == "" {
		program = "agentkernel"
	}
	socket, err := startDaemon(ctx, program)
	if err != nil {
		return nil, err
	}
	own.BaseURL = (&url.URL{Scheme: "unix", Path: socket}).String()
	return New(&own), nil
}

// startDaemon returns the path of its socket.
func startDaemon(ctx context.Context, program string) (string, error) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, program, "daemon", "start", "--json", "--idle-timeout", "1h")
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil && command.ProcessState == nil {
		hint := "install agentkernel, or name its program (Program, AGENTKERNEL_PROGRAM)"
		return "", fmt.Errorf("agentkernel: %s cannot be started (%w): %s", program, err, hint)
	}
	var answer struct {
		Success bool
		Data    struct{ Socket string }
		Error   struct{ Message string }
	}
	why := strings.TrimSpace(stderr.String())
	if err := json.Unmarshal(stdout.Bytes(), &answer); err == nil {
		if answer.Success && answer.Data.Socket != "" {
			return answer.Data.Socket, nil
		}
		why = answer.Error.Message
	}
	return "", fmt.Errorf("agentkernel: %s daemon start: %s", program, why)
}
