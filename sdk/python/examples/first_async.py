"""The same, with async."""

import asyncio

from agentkernel import AsyncAgentKernel, NotFoundError


async def main() -> None:
    async with AsyncAgentKernel() as client:
        print((await client.run(["echo", "hello"])).stdout, end="")

        async with client.stream(["sh", "-c", "echo one; echo two"]) as events:
            async for event in events:
                if event.type == "stdout":
                    print(event.text, end="")

        async with client.session(network=False) as session:
            await session.files.write("greeting.txt", "kept\n")
            print((await session.exec(["cat", "greeting.txt"])).stdout, end="")
            try:
                await session.files.read("nothing.txt")
            except NotFoundError:
                print("not there")


asyncio.run(main())
