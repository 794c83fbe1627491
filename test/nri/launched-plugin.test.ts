import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { builtBundle } from '../support/built-bundle';
import { NriRuntime } from '../support/nri-runtime';

/** A plugin without name, index and socket of its own. */
const PLUGIN = `
  require('./lib/nri.js').runNriPlugin({
    signal: new AbortController().signal,
    handlers: { createContainer: () => ({ adjust: { linux: { resources: { cpu: { cpus: '1' } } } } }) },
  });`;

test('given a plugin that the runtime starts with a connected file descriptor, then it serves on that, and ends with the connection', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nri-'));
  const socketPath = join(folder, 'nri.sock');
  const runtime = await NriRuntime.listen({ socketPath });
  const socket = connect(socketPath);
  await once(socket, 'connect');
  const child = spawn(process.execPath, ['-e', PLUGIN], {
    cwd: dirname(builtBundle()),
    stdio: ['ignore', 'inherit', 'inherit', socket],
    env: { ...process.env, NRI_PLUGIN_NAME: 'launched', NRI_PLUGIN_IDX: '07', NRI_PLUGIN_SOCKET: '3' },
  });
  const exited = once(child, 'exit');
  try {
    expect(await runtime.plugin()).toMatchObject({ pluginName: 'launched', pluginIndex: '07' });
    const container = await runtime.createContainer(await runtime.runPod({ name: 'web' }), { name: 'app' });
    expect(runtime.cpusOf(container)).toBe('1');
  } finally {
    await runtime.close();
    socket.destroy();
    rmSync(folder, { recursive: true });
  }
  expect(await exited).toEqual([0, null]);
});
