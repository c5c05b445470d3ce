//! Runs a command, listens to another while it runs, and keeps a sandbox for a while.

use agentkernel_sdk::{AgentKernel, CreateOptions, ErrorCode, Event, Network};

#[tokio::main(flavor = "current_thread")]
async fn main() -> agentkernel_sdk::Result<()> {
    let client = AgentKernel::builder().build()?;

    let result = client.run(&["echo", "hello"], None).await?;
    print!("{}", result.stdout);

    let mut stream = client
        .stream(&["sh", "-c", "echo one; echo two"], None)
        .await?;
    while let Some(event) = stream.next().await {
        if let Event::Stdout(data) = event? {
            print!("{}", String::from_utf8_lossy(&data));
        }
    }

    let options = CreateOptions {
        network: Some(Network::Off),
        ..CreateOptions::default()
    };
    let mut session = client.session(Some(options)).await?;
    session.files.write("greeting.txt", "kept\n", None).await?;
    print!(
        "{}",
        session.exec(&["cat", "greeting.txt"], None).await?.stdout
    );
    if let Err(error) = session.files.read("nothing.txt").await
        && error.code() == Some(&ErrorCode::NotFound)
    {
        println!("not there");
    }
    session.close().await
}
