import { giveCpus } from './give-cpus';
import type { Policy } from './policy';

/** The kubelet's static policy: a container of a Guaranteed pod that asks for whole CPUs gets them alone. */
export const staticPolicy: Policy = (snapshot, request) =>
  giveCpus(snapshot, request, {
    kind: 'static',
    word: 'exclusive',
    options: snapshot.settings.options,
    alone: true,
  });
