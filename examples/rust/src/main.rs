fn sum_of_squares(count: u64) -> u64 {
    (1..=count).map(|number| number * number).sum()
}

fn main() {
    println!("hello from Rust");
    println!("{}", sum_of_squares(10));
}
