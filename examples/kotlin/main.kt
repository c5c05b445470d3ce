fun main() {
    println("hello from Kotlin")
    println((1..10).map { it * it }.sum())
}
