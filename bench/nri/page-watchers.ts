import { spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { get } from 'node:http';
import { type AdminClient, connectAdmin } from '../../src/admin/client/admin-client';

const VARIABLE = 'CPUSETD_BENCH_WATCH';
/** Browsers that follow the page, and callers of WatchStatus. */
export const BROWSERS = 10;
export const WATCHERS = 100;
const CONNECTIONS = 4;

interface Watched {
  readonly socket: string;
  readonly url: string;
}

/** Follows a daemon in a process of its own, which is this program once more. Resolves when all are connected. */
export async function startWatchers(watched: Watched): Promise<{ readonly stop: () => Promise<void> }> {
  const env = { ...process.env, [VARIABLE]: JSON.stringify(watched) };
  const child = spawn(process.execPath, [process.argv[1]!], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const first = await Promise.race([once(child.stdout, 'data'), exit.then(() => 'ended')]);
  if (first === 'ended') throw new Error('the watchers have ended');
  return {
    stop: async () => {
      child.kill();
      await exit;
    },
  };
}

/** The program when it is started by `startWatchers`: it reads all that the daemon tells, until it is ended. */
export async function watchIfAsked(): Promise<boolean> {
  const given = process.env[VARIABLE];
  if (given === undefined) return false;
  const { socket, url } = JSON.parse(given) as Watched;
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const page = Array.from({ length: BROWSERS }, () => followPage(`${url}/api/v1/stream`));
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectAdmin(socket)));
  const watches = Array.from({ length: WATCHERS }, (_, i) => followStatus(clients[i % CONNECTIONS]!, signal));
  await Promise.all([...page, ...watches]);
  process.stdout.write('ready\n');
  await new Promise(() => undefined);
  return true;
}

/** Reads and decodes as a browser does. */
function followPage(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let rest = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        const messages = (rest + text).split('\n\n');
        rest = messages.pop()!;
        for (const message of messages) {
          const data = /^data: (.*)$/m.exec(message)?.[1];
          if (data !== undefined) JSON.parse(data);
          resolve();
        }
      });
    }).on('error', reject);
  });
}

function followStatus(client: AdminClient, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const read = async (): Promise<void> => {
      for await (const _change of client.watch(signal)) resolve();
    };
    read().catch(reject);
  });
}
