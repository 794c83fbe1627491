import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Machine } from '../../machines/machine';
import { loadScript } from '../../support/load-script';

let readMachines: (folder: string) => readonly Machine[];
beforeAll(async () => {
  ({ readMachines } = await loadScript<{ readMachines: typeof readMachines }>('machines/machine.mjs'));
});

const folder = mkdtempSync(join(tmpdir(), 'machines-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The kernel of a machine whose description has these lines besides the needed ones. */
function kernelWith(...lines: string[]): string {
  const description = ['about: A machine.', 'sockets: 1', 'cores: 2', 'threads: 1', ...lines];
  writeFileSync(join(folder, 'one.yaml'), description.join('\n'));
  return readMachines(folder)[0]!.kernel;
}

test('a machine has the cloud kernel unless its description says otherwise', () => {
  expect(kernelWith()).toBe('cloud');
  expect(kernelWith('cgroup: v1')).toBe('cloud');
  expect(kernelWith('kernel: generic')).toBe('generic');
});

test.each`
  name                                                | lines                                | message
  ${'the generic kernel, which has no cpusets on v1'} | ${['kernel: generic', 'cgroup: v1']} | ${/machine one: .*cgroup v1.*\n.*kernel/}
  ${'a kernel that there is not'}                     | ${['kernel: realtime']}              | ${/machine one: .*"cloud"\|"generic".*\n.*kernel/}
`('refused: $name', ({ lines, message }: { lines: string[]; message: RegExp }) => {
  expect(() => kernelWith(...lines)).toThrow(message);
});
