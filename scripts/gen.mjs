// Generates gen/ from proto/ with buf and ts-proto. With --check it generates elsewhere and fails on any difference.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const check = process.argv.includes('--check');
const scratch = mkdtempSync(join(tmpdir(), 'cpusetd-gen-'));
const out = join(check ? scratch : root, 'gen');

// One option a line, so that a change of the generated code shows its cause here.
const options = [
  'unknownFields=true', // a message that is decoded, changed and encoded again loses nothing
  'forceLong=bigint', // 64-bit numbers keep every bit
  'outputServices=generic-definitions', // names and codecs of methods; transport is ours
  'outputJsonMethods=false',
  'outputPartialMethods=true', // create(), so that a sender names only the fields it means
  'useExactTypes=false',
  'esModuleInterop=true',
  'removeEnumPrefix=true',
  'importSuffix=',
];
const template = join(scratch, 'buf.gen.yaml');
writeFileSync(
  template,
  JSON.stringify({
    version: 'v2',
    plugins: [{ local: join(root, 'node_modules/.bin/protoc-gen-ts_proto'), out, opt: options }],
  }),
);

try {
  if (!check) rmSync(out, { recursive: true, force: true });
  execFileSync(join(root, 'node_modules/.bin/buf'), ['generate', 'proto', '--template', template], {
    cwd: root,
    stdio: 'inherit',
  });
  if (check) execFileSync('diff', ['-r', join(root, 'gen'), out], { stdio: 'inherit' });
} catch {
  console.error(
    check ? 'gen/ differs from what proto/ generates. Run: npm run gen' : 'generation failed; see the message above',
  );
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
