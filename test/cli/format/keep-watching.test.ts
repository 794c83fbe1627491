import { keepWatching } from '../../../src/cli/format/keep-watching';
import { Screen } from '../../../src/cli/format/screen';
import { CpusetdError } from '../../../src/core/errors';
import { withAdminRig } from '../../admin/with-admin-server';
import { PassThrough } from 'node:stream';

/** A screen that tells of each note that it shows. */
function openScreen() {
  const out = Object.assign(new PassThrough(), { rows: 20, columns: 200 });
  const shown: string[] = [];
  out.on('data', (bytes: Buffer) => shown.push(bytes.toString()));
  return { shown, screen: new Screen(out, () => Promise.resolve('the last answer\n')) };
}

test('on a screen a daemon that goes is told, the last answer stays, and the next daemon is followed', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    const end = new AbortController();
    const { screen, shown } = openScreen();
    let server = await start();
    let daemons = 0;
    await keepWatching({ adminSocket: socketPath, signal: end.signal, screen }, async (client) => {
      daemons += 1;
      for await (const _change of client.watch(end.signal)) {
        await screen.refresh();
        if (daemons === 2) end.abort();
        else {
          await server.close();
          server = await start();
        }
      }
    });
    expect(daemons).toBe(2);
    expect(shown[0]).toContain('the last answer');
    expect(shown.filter((text) => text.includes('cpusetd is away, this is its last answer ('))).toHaveLength(1);
    screen.close();
  });
});

test('on a screen a daemon that does not answer in time is away too, until it answers', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const end = new AbortController();
    const { screen, shown } = openScreen();
    let asked = 0;
    await keepWatching({ adminSocket: socketPath, signal: end.signal, screen }, () => {
      asked += 1;
      if (asked === 1) return Promise.reject(new CpusetdError('DEADLINE_EXCEEDED', 'not within 5 s'));
      end.abort();
      return Promise.resolve();
    });
    expect(asked).toBe(2);
    expect(shown.join('')).toContain('cpusetd is away, this is its last answer (not within 5 s)');
    screen.close();
  });
});

test('without a screen the end of the daemon ends the watch, with the reason', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    const { signal } = new AbortController();
    const server = await start();
    const watching = keepWatching({ adminSocket: socketPath, signal, screen: undefined }, async (client) => {
      for await (const _change of client.watch(signal)) await server.close();
    });
    await expect(watching).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

test('a daemon that was never there is an error, on a screen too', async () => {
  await withAdminRig(async ({ socketPath }) => {
    const { screen, shown } = openScreen();
    const { signal } = new AbortController();
    const watching = keepWatching({ adminSocket: socketPath, signal, screen }, () => Promise.resolve());
    await expect(watching).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(shown).toEqual([]);
    screen.close();
  });
});
