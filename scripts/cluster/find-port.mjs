// Free ports on loopback.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** The file with the range of ports that the kernel gives to a process that names none. */
const ephemeral = '/proc/sys/net/ipv4/ip_local_port_range';
const lowestPort = 10_000;

/**
 * A port that is free now, also between a crash and the next start: the kernel gives it only to a process that names
 * it.
 * @returns {Promise<number>}
 */
export async function findPort() {
  const end = Math.max(Number(readFileSync(ephemeral, 'utf8').split('\t')[0]), lowestPort + 1_000);
  for (;;) {
    const port = randomInt(lowestPort, end);
    const server = createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
