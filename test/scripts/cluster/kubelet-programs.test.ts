import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const scripts = join(__dirname, '../../../scripts');
const url = pathToFileURL(join(scripts, 'cluster/kubelet-programs.mjs')).href;
const print = `import { kubeletModules } from '${url}'; console.log(JSON.stringify(kubeletModules))`;
const modules = JSON.parse(
  execFileSync(process.execPath, ['--input-type=module', '--eval', print], { encoding: 'utf8' }),
) as string[];

/** The minor release of Kubernetes that a module pins. */
function readMinor(module: string): number {
  const goMod = readFileSync(join(scripts, 'go-programs', module, 'go.mod'), 'utf8');
  return Number(/^\tk8s\.io\/kubernetes v1\.(\d+)\./m.exec(goMod)![1]);
}

test('kubelets are of the release of the control plane, and of the one before it', () => {
  const newest = readMinor('kubernetes');
  expect(modules.map(readMinor)).toEqual([newest, newest - 1]);
});
