import type { Topology } from '../topology';
import type { Assignment } from './assignment';
import type { Brought } from './brought';
import type { Container, Pod } from './container';
import { deriveSets, type DerivedSets } from './derived-sets';
import { Holdings } from './holdings';
import { Derived, Groups, KeysWhere } from './indexes';
import { HoldingsByPod } from './pod-holdings';
import type { PodLevel } from './pod-level';
import { runtimeUidOf, type PodSpec } from './pod-spec';
import { PromisedMemory } from './promised-memory';
import type { Settings } from './settings';
import { SpecMap, type SpecSource } from './spec-book';
import { Cell, Table } from './table';

/** Every table of the model, and everything that is derived from them. */
export class Tables {
  readonly holdings = new Holdings();
  readonly holdingsByPod = new HoldingsByPod();
  readonly sets: Derived<DerivedSets> = new Derived(() =>
    deriveSets(this.topology.value, this.settings.value, this.holdings),
  );
  readonly assignmentsByPod = new Groups<Assignment>(({ podUid }) => podUid);
  readonly assignments = new Table<Assignment>({
    follow: (before, after, key) => {
      this.assignmentsByPod.follow(before, after, key);
      this.holdings.follow(before, after, key);
      this.holdingsByPod.follow(before, after);
      this.sets.reset();
    },
    podUidOf: ({ podUid }) => podUid,
    containerIdOf: ({ containerId }) => containerId,
    isDurable: true,
  });

  readonly podsByUid = new Groups<Pod>(({ uid }) => uid);
  readonly pods = new Table<Pod>({
    follow: (before, after, id) => {
      // Two steps: the sandbox that changed last is the last one of its pod.
      this.podsByUid.follow(before, undefined, id);
      this.podsByUid.follow(undefined, after, id);
    },
    podUidOf: ({ uid }) => uid,
  });

  readonly containersByPod = new Groups<Container>(({ podUid }) => podUid);
  readonly waiting = new KeysWhere<Container>(({ waitingSince }) => waitingSince !== undefined);
  readonly unswitched = new KeysWhere<Container>(({ blockedSwitch }) => blockedSwitch !== undefined);
  readonly memory = new PromisedMemory();
  readonly withHugePages = new KeysWhere<Container>(({ resources }) => resources.hugePages !== undefined);
  readonly containersOfPods = new Map<string, Container>();
  readonly containers = new Table<Container>({
    follow: (before, after, id) => {
      const old = before?.pause ? undefined : before;
      const now = after?.pause ? undefined : after;
      if (now) this.containersOfPods.set(id, now);
      else this.containersOfPods.delete(id);
      this.containersByPod.follow(old, now, id);
      this.waiting.follow(old, now, id);
      this.unswitched.follow(old, now, id);
      this.memory.follow(old, now);
      this.withHugePages.follow(old, now, id);
    },
    podUidOf: ({ podUid }) => podUid,
    containerIdOf: ({ id }) => id,
  });

  readonly broughtByPod = new Groups<Brought>(({ podUid }) => podUid);
  readonly brought = new Table<Brought>({
    follow: (before, after, key) => this.broughtByPod.follow(before, after, key),
    podUidOf: ({ podUid }) => podUid,
    isDurable: true,
    mayBeLate: true, // it promises nobody CPUs: without a disk, containers that share start all the same
  });

  readonly podLevel = new Table<PodLevel>({
    podUidOf: ({ podUid }) => podUid,
    isDurable: true,
    mayBeLate: true, // found out again when the containers run
  });

  readonly podSpecs = new SpecMap();
  readonly specsWithHugePages = new KeysWhere<PodSpec>(
    ({ containers, finished }) => !finished && containers.some(({ limitHugePages }) => limitHugePages !== undefined),
  );
  readonly specs = new Table<PodSpec>(
    {
      follow: (before, after, uid) => {
        this.podSpecs.follow(before, after, uid);
        this.specsWithHugePages.follow(before, after, uid);
      },
      podUidOf: runtimeUidOf,
    },
    this.podSpecs,
  );
  readonly keptSpecs = new SpecMap();
  readonly kept = new Table<PodSpec>({ follow: this.keptSpecs.follow, isDurable: true }, this.keptSpecs);
  readonly specSource = new Cell<SpecSource>();
  readonly unplanned = new Table<string>();
  readonly synchronized = new Cell<boolean>();
  readonly topology: Cell<Topology> = new Cell({ follow: () => this.sets.reset(), concernsEveryone: true });
  readonly settings: Cell<Settings> = new Cell({ follow: () => this.sets.reset(), concernsEveryone: true });
}
