package agentkernel

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

const defaultURL = "http://localhost:8080"

type place struct {
	url string
	// socket is the path of a Unix socket; the URL only stands for it then.
	socket string
}

// findPlace: what is said outright, else AGENTKERNEL_BASE_URL, else the socket of the user's daemon if there is one, else
// localhost:8080.
func findPlace(baseURL string) (place, error) {
	named := baseURL
	if named == "" {
		named = os.Getenv("AGENTKERNEL_BASE_URL")
	}
	if named == "" {
		if socket := daemonSocket(); socket != "" {
			return place{"http://localhost", socket}, nil
		}
		return place{url: defaultURL}, nil
	}
	parsed, err := url.Parse(named)
	switch {
	case err == nil && parsed.Scheme == "unix" && parsed.Host == "" && strings.HasPrefix(parsed.Path, "/"):
		return place{"http://localhost", parsed.Path}, nil
	case err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != "":
		return place{url: strings.TrimRight(named, "/")}, nil
	}
	return place{}, fmt.Errorf(
		"agentkernel: the base URL %q is of no kind that is known: give http://host:port, https://host:port or unix:///path/to/socket",
		named,
	)
}

var loopback = regexp.MustCompile(`^(localhost|127(\.\d{1,3}){3}|::1)$`)

// localToken is what stands for the user at a server of theirs on loopback, which writes it to a file that only the user
// can read. It is read for each request: a server makes a new one when it starts.
func (p place) localToken() string {
	parsed, err := url.Parse(p.url)
	if p.socket != "" || err != nil || !loopback.MatchString(strings.ToLower(parsed.Hostname())) {
		return ""
	}
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	}
	text, err := os.ReadFile(filepath.Join(stateFolder(), "agentkernel", "api-tokens", port))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func daemonSocket() string {
	path := filepath.Join(daemonFolder(), "daemon.sock")
	if found, err := os.Stat(path); err == nil && found.Mode()&os.ModeSocket != 0 {
		return path
	}
	return ""
}

func daemonFolder() string {
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) && isOwnFolder(runtime) {
		return filepath.Join(runtime, "agentkernel")
	}
	return filepath.Join(stateFolder(), "agentkernel", "daemon")
}

func stateFolder() string {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return state
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".local/state")
}

// Under sudo the variable may still name the folder of the user before.
func isOwnFolder(path string) bool {
	found, err := os.Stat(path)
	if err != nil || !found.IsDir() {
		return false
	}
	status, ok := found.Sys().(*syscall.Stat_t)
	return ok && int(status.Uid) == os.Geteuid()
}
