import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { waitUntil } from '../../e2e/rig';
import { type ClusterNode, createToken, onOneNode, readClusterFacts, startNode, writeKubeconfig } from '../rig';
import { always, burner, enforcing, isTainted, noisy, readMemory, Rule, untilQuota } from './rig';

/** The way of one daemon to the API server, which can be cut. */
class Line {
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();
  private port = 0;

  constructor(private readonly target: URL) {}

  /** Opens it, at the same port each time. @returns its port */
  async open(): Promise<number> {
    const { hostname, port } = this.target;
    const server = createServer((near) => {
      const far = connect(Number(port || 443), hostname);
      for (const socket of [near, far]) {
        this.sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => [near, far].forEach((each) => each.destroy()));
      }
      near.pipe(far).pipe(near);
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.server = server;
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a TCP server has an address and a port');
    return (this.port = address.port);
  }

  cut(): void {
    this.server?.close();
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }
}

onOneNode('the API server goes away while a container is throttled', ({ suite, mode }) => {
  let line: Line;
  let node: ClusterNode;
  let rule: Rule | undefined;
  beforeAll(async () => {
    const facts = readClusterFacts();
    line = new Line(new URL(facts.server));
    const server = `https://localhost:${await line.open()}`;
    const kubeconfig = writeKubeconfig('cpusetd-cut', { token: await createToken() }, { ...facts, server });
    node = await startNode({ suite, mode, kubeconfig, ...enforcing });
  });
  afterAll(async () => {
    await rule?.delete();
    await node?.stop();
    line?.cut();
  });

  test('the quota goes back after a minute; the taint goes when the API server answers again', async () => {
    const pod = await node.runPod({ labels: noisy, containers: [burner] });
    rule = await Rule.create(node, always(pod));
    await untilQuota(pod, 'lowered', (us) => us > 0);
    await waitUntil('the Node is tainted', () => isTainted(node));

    const cutAt = performance.now();
    line.cut();
    await rule.delete();
    await untilQuota(pod, 'as before', (us) => us === -1, 120_000);
    console.info(
      `the quota went back ${Math.round((performance.now() - cutAt) / 1000)} s after the API server went away`,
    );
    expect(await isTainted(node)).toBe(true);
    expect(readMemory(node)).toMatchObject({ tainted: true });

    await line.open();
    await waitUntil('the Node has no taint', async () => !(await isTainted(node)), 90_000, { everyMs: 200 });
    // The condition of the Node is written between the two.
    await waitUntil('nothing is remembered', () => !readMemory(node).tainted);
    expect(readMemory(node).throttles).toEqual([]);
  });
});
