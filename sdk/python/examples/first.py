"""Runs a command, listens to another while it runs, and keeps a sandbox for a while."""

from agentkernel import AgentKernel, NotFoundError

with AgentKernel() as client:
    print(client.run(["echo", "hello"]).stdout, end="")

    with client.stream(["sh", "-c", "echo one; echo two"]) as events:
        for event in events:
            if event.type == "stdout":
                print(event.text, end="")

    with client.session(network=False) as session:
        session.files.write("greeting.txt", "kept\n")
        print(session.exec(["cat", "greeting.txt"]).stdout, end="")
        try:
            session.files.read("nothing.txt")
        except NotFoundError:
            print("not there")
