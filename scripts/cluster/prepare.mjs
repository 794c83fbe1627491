// Gets the programs of a cluster ready and prints their versions; else says why there are none, and ends with 3 when
// this machine cannot build them, with 1 otherwise.
//
// node scripts/cluster/prepare.mjs [--kubelets] [NAME...] --kubelets: those of all kinds of nodes; NAME: a further
// module of scripts/go-programs
import { CannotBuild, ensureGoPrograms, statusCannotBuild } from '../go-programs/build.mjs';
import { messageOf } from '../shared/errors.mjs';
import { logToStderr as log } from '../shared/log.mjs';
import { ensureCluster } from './ensure.mjs';
import { kubeletModules } from './kubelet-programs.mjs';

try {
  const names = process.argv.slice(2).flatMap((name) => (name === '--kubelets' ? kubeletModules : [name]));
  const further = names.flatMap((name) => Object.entries(ensureGoPrograms(name, { log }).versions));
  console.log(JSON.stringify({ ...Object.fromEntries(further), ...ensureCluster({ log }) }));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = error instanceof CannotBuild ? statusCannotBuild : 1;
}
