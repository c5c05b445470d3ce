import java.util.stream.IntStream;

public class Main {
    public static void main(String[] arguments) {
        System.out.println("hello from Java");
        System.out.println(IntStream.rangeClosed(1, 10).map(number -> number * number).sum());
    }
}
