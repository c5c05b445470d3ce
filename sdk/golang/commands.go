package agentkernel

import (
	"encoding/base64"
	"time"
	"unicode/utf8"
)

// The server's own time limit, where none is named.
const defaultCommandTime = 30 * time.Second

type runBody struct {
	Command []string `json:"command"`
	*RunOptions
	StdinEncoding string `json:"stdin_encoding,omitempty"`
}

type execBody struct {
	Command []string `json:"command"`
	*ExecOptions
	StdinEncoding string `json:"stdin_encoding,omitempty"`
	Detach        bool   `json:"detach,omitempty"`
}

func newRunBody(command []string, options *RunOptions) runBody {
	own := RunOptions{}
	if options != nil {
		own = *options
	}
	encoding := encodeStdin(&own.Stdin)
	return runBody{Command: command, RunOptions: &own, StdinEncoding: encoding}
}

func newExecBody(command []string, options *ExecOptions) execBody {
	own := ExecOptions{}
	if options != nil {
		own = *options
	}
	encoding := encodeStdin(&own.Stdin)
	return execBody{Command: command, ExecOptions: &own, StdinEncoding: encoding}
}

// encodeStdin lets any bytes through JSON, which is text.
func encodeStdin(stdin *string) string {
	if utf8.ValidString(*stdin) {
		return ""
	}
	*stdin = base64.StdEncoding.EncodeToString([]byte(*stdin))
	return "base64"
}

func commandTime(timeoutMs int64) time.Duration {
	if timeoutMs == 0 {
		return defaultCommandTime
	}
	return time.Duration(timeoutMs) * time.Millisecond
}
