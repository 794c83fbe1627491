// Tells if the containerd of a Debian suite knows required NRI plugins, without which it creates no container. It
// accepts the setting either way.
//
//   node scripts/runtime/knows-required-plugins.mjs sid     prints yes or no
import { execFileSync } from 'node:child_process';
import { ensureRoot } from './debian-root.mjs';

const root = ensureRoot(process.argv[2] ?? 'sid');
const config = execFileSync('chroot', [root, '/usr/bin/containerd', 'config', 'default'], { encoding: 'utf8' });
console.log(config.includes('default_validator') ? 'yes' : 'no');
