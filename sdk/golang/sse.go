package agentkernel

import (
	"bufio"
	"io"
	"strings"
)

// eventReader reads Server-Sent Events, however their bytes are cut.
type eventReader struct {
	in *bufio.Reader
	// The last line ended with a carriage return; a line feed right after it belongs to that end.
	afterReturn bool
}

// next answers with the next event and its data, or io.EOF.
func (r *eventReader) next() (event, data string, err error) {
	var lines []string
	for {
		line, err := r.line()
		if err != nil {
			return "", "", err
		}
		if line == "" {
			if lines != nil {
				if event == "" {
					event = "message"
				}
				return event, strings.Join(lines, "\n"), nil
			}
			event = ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event = value
		case "data":
			lines = append(lines, value)
		}
	}
}

// line ends with a line feed, a carriage return or both. What is left at the end without any is no line.
func (r *eventReader) line() (string, error) {
	var line []byte
	for {
		letter, err := r.in.ReadByte()
		if err != nil {
			return "", err
		}
		isRest := r.afterReturn && letter == '\n'
		r.afterReturn = letter == '\r'
		switch {
		case isRest:
		case letter == '\n' || letter == '\r':
			return string(line), nil
		default:
			line = append(line, letter)
		}
	}
}

// restarting tells a deadline that something came.
type restarting struct {
	io.Reader
	limit *deadline
}

func (r restarting) Read(into []byte) (int, error) {
	read, err := r.Reader.Read(into)
	if read > 0 {
		r.limit.restart()
	}
	return read, err
}
