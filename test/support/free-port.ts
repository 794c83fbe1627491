import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

/** The file with the range of ports that the kernel gives to sockets without a port of their own. */
const ephemeral = '/proc/sys/net/ipv4/ip_local_port_range';
const lowestPort = 10_000;

/** A port of the loopback interface that is free now, and that the kernel gives to no socket by itself. */
export async function findFreePort(): Promise<number> {
  const end = Math.max(Number(readFileSync(ephemeral, 'utf8').split('\t')[0]), lowestPort + 1_000);
  for (;;) {
    const port = randomInt(lowestPort, end);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
