module agentkernel/sdk/golang

go 1.19
