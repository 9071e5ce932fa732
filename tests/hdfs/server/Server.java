import java.util.Scanner;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;

/**
 * A NameNode and DataNodes on loopback, in this process:
 * Server FOLDER DATANODES REPLICATION [BLOCK_NBYTES].
 * DataNode 0 says that its host is called node0, and so on.
 *
 * Says "ready PORT HTTP_PORT" when they are; then takes a word a line from standard input, "stop" or "start"
 * for the first DataNode, and answers it. When standard input ends, so does everything.
 */
public class Server {
    public static void main(String[] words) throws Exception {
        Configuration settings = new Configuration();
        settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, words[0]);
        settings.setInt("dfs.replication", Integer.parseInt(words[2]));
        settings.setBoolean("dfs.permissions.enabled", false);
        settings.setLong("dfs.blocksize", words.length > 3 ? Long.parseLong(words[3]) : 1 << 20);
        settings.setLong("dfs.namenode.fs-limits.min-block-size", 1 << 16);
        // So that a DataNode that is gone is missed within seconds.
        settings.setInt("dfs.heartbeat.interval", 1);
        settings.setInt("dfs.namenode.heartbeat.recheck-interval", 1000);
        int nodes = Integer.parseInt(words[1]);
        String[] hosts = new String[nodes];
        for (int node = 0; node < nodes; node++) {
            hosts[node] = "node" + node;
        }
        MiniDFSCluster cluster =
                new MiniDFSCluster.Builder(settings).numDataNodes(nodes).hosts(hosts).build();
        cluster.waitActive();
        int http = cluster.getNameNode().getHttpAddress().getPort();
        System.out.println("ready " + cluster.getNameNodePort() + " " + http);
        DataNodeProperties stopped = null;
        Scanner input = new Scanner(System.in);
        while (input.hasNextLine()) {
            String word = input.nextLine().trim();
            if (word.equals("stop")) {
                stopped = cluster.stopDataNode(0);
            } else if (word.equals("start")) {
                cluster.restartDataNode(stopped, true);
                cluster.waitActive();
            }
            System.out.println(word + " done");
        }
        cluster.shutdown();
        System.exit(0);
    }
}
