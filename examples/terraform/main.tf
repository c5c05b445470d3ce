output "greeting" {
  value = "hello from Terraform\n${sum([for number in range(1, 11) : number * number])}\n"
}
