import java.io.InputStream;
import java.net.URI;

class UrlClient {
    public static void main(String[] words) throws Exception {
        try (InputStream answer = URI.create(words[0]).toURL().openStream()) {
            System.out.print(new String(answer.readAllBytes()));
        }
    }
}
