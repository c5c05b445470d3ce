// Go's own resolver and TCP, linked statically: no C library takes part.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

func main() {
	host := os.Args[1]
	connection, err := net.Dial("tcp", net.JoinHostPort(host, "80"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintf(connection, "GET /hello.txt HTTP/1.0\r\nHost: %s\r\n\r\n", host)
	io.Copy(os.Stdout, connection)
}
