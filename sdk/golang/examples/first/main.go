// First runs a command, listens to another while it runs, and keeps a sandbox for a while.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	agentkernel "agentkernel/sdk/golang"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client := agentkernel.New(nil)
	defer client.Close()

	result, err := client.Run(ctx, []string{"echo", "hello"}, nil)
	if err != nil {
		return err
	}
	fmt.Print(result.Stdout)

	stream, err := client.Stream(ctx, []string{"sh", "-c", "echo one; echo two"}, nil)
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Next() {
		if event := stream.Event(); event.Type == "stdout" {
			fmt.Print(event.Text())
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}

	session, err := client.Session(ctx, &agentkernel.CreateOptions{Network: agentkernel.Off})
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err := session.Files.Write(ctx, "greeting.txt", []byte("kept\n"), 0); err != nil {
		return err
	}
	kept, err := session.Exec(ctx, []string{"cat", "greeting.txt"}, nil)
	if err != nil {
		return err
	}
	fmt.Print(kept.Stdout)

	if _, err := session.Files.Read(ctx, "nothing.txt"); errors.Is(err, agentkernel.ErrNotFound) {
		fmt.Println("not there")
	}
	return nil
}
