// Compiles program.c statically, so that it runs in any image: node bench/workload/compile.mjs TARGET
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { hasCommand, installPackages } from '../../scripts/shared/host-commands.mjs';
import { logToStderr } from '../../scripts/shared/log.mjs';

const [target = 'program'] = process.argv.slice(2);
if (!hasCommand('cc')) installPackages(['gcc', 'libc6-dev'], logToStderr);
const source = fileURLToPath(new URL('program.c', import.meta.url));
const { status, error } = spawnSync('cc', ['-std=gnu99', '-O2', '-static', '-pthread', '-o', target, source], {
  stdio: 'inherit',
});
if (error) throw error;
process.exitCode = status ?? 1;
