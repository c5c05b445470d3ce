# Unverified: written for Homebrew's documented interface and not yet tried with it.
class Agentkernel < Formula
  desc "Sandbox runtime for AI coding agents"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux
  depends_on "node"

@ARCHIVES@

  def install
    libexec.install Dir["*"]
    bin.install_symlink libexec/"dist/native/ak-client" => "agentkernel"
    man1.install_symlink Dir[libexec/"share/man/man1/*.1"]
    bash_completion.install_symlink libexec/"share/bash-completion/completions/agentkernel"
    zsh_completion.install_symlink libexec/"share/zsh/site-functions/_agentkernel"
    fish_completion.install_symlink libexec/"share/fish/vendor_completions.d/agentkernel.fish"
  end

  service do
    run [opt_bin/"agentkernel", "daemon", "run"]
    keep_alive successful_exit: false
    environment_variables PATH: std_service_path_env, AGENTKERNEL_SERVICE: "homebrew.mxcl.agentkernel"
    log_path var/"log/agentkernel.log"
    error_log_path var/"log/agentkernel.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/agentkernel --version")
  end
end
