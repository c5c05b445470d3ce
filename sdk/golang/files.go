package agentkernel

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
)

// Files are those of one sandbox. A path that does not start with a slash is below /workspace.
type Files struct {
	connection *connection
	sandbox    string
}

// Read reads a file.
func (f *Files) Read(ctx context.Context, path string) ([]byte, error) {
	return f.connection.content(ctx, f.at(http.MethodGet, path, "format", "raw"))
}

// Write replaces the file as a whole or not at all; folders on the way are made. Mode 0 is 0644.
func (f *Files) Write(ctx context.Context, path string, content []byte, mode fs.FileMode) (*Written, error) {
	asked := f.at(http.MethodPut, path)
	if mode != 0 {
		asked.query.Set("mode", fmt.Sprintf("%03o", mode.Perm()))
	}
	asked.bytes = append([]byte{}, content...)
	return fetch[Written](ctx, f.connection, asked)
}

// MakeFolder makes a folder, and those on the way.
func (f *Files) MakeFolder(ctx context.Context, path string) (*Written, error) {
	return fetch[Written](ctx, f.connection, f.at(http.MethodPut, path, "type", "dir"))
}

// List lists a folder.
func (f *Files) List(ctx context.Context, path string) (*FolderListing, error) {
	result, err := fetch[FolderListing](ctx, f.connection, f.at(http.MethodGet, path, "format", "json"))
	if err != nil {
		return nil, err
	}
	if result.Type != "dir" {
		return nil, fmt.Errorf("agentkernel: %s is not a folder", path)
	}
	return result, nil
}

// Remove removes a file, an empty folder, or (recursive) a folder with all that is in it.
func (f *Files) Remove(ctx context.Context, path string, recursive bool) error {
	asked := f.at(http.MethodDelete, path)
	if recursive {
		asked.query.Set("recursive", "true")
	}
	return f.connection.data(ctx, asked, &struct{}{})
}

func (f *Files) at(method, path string, query ...string) request {
	if !strings.HasPrefix(path, "/") {
		path = "/workspace/" + path
	}
	words := strings.Split(path[1:], "/")
	for index, word := range words {
		words[index] = url.PathEscape(word)
	}
	values := url.Values{}
	for index := 0; index+1 < len(query); index += 2 {
		values.Set(query[index], query[index+1])
	}
	return request{method: method, path: f.sandbox + "/files/" + strings.Join(words, "/"), query: values}
}
