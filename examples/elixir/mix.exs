defmodule Example.MixProject do
  use Mix.Project

  def project, do: [app: :example, version: "1.0.0"]
end
