import { CpusetdError } from '../../../src/core/errors';
import { RuntimeComparison } from '../../../src/app/reconcile/runtime-comparison';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { RuntimeListing } from '../../../src/core/transition';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

/** A node whose runtime lists what the test sets: pods `p`, running containers `p/a#1`. */
class Stage {
  readonly node = new NodeDriver();
  readonly resynchronized: (readonly string[])[] = [];
  listing: RuntimeListing | Error = { pods: [], containers: [] };
  readonly comparison: RuntimeComparison;

  constructor(history: string, { canList = true } = {}) {
    this.node.run(history);
    const { model } = this.node;
    const context = contextOf({ model, cgroups: {} as Cgroups });
    const transactor = new Transactor({ ...context, model, save: () => undefined, mover: { move: () => undefined } });
    const list = async (): Promise<RuntimeListing> => {
      if (this.listing instanceof Error) throw this.listing;
      return this.listing;
    };
    this.comparison = new RuntimeComparison({
      context,
      transactor,
      runtime: { ...(canList && { list }), resynchronize: (ids) => this.resynchronized.push(ids) },
    });
  }

  lists(...containerIds: string[]): this {
    const uids = [...new Set(containerIds.map((id) => id.split('/')[0]!))];
    this.listing = {
      pods: uids.map((uid) => ({ uid, sandboxId: `sandbox-${uid}`, ready: true })),
      containers: containerIds.map((id) => ({
        id,
        sandboxId: `sandbox-${id.split('/')[0]!}`,
        exited: false,
        running: true,
      })),
    };
    return this;
  }

  get known(): string[] {
    return [...this.node.model.containers.keys()].sort();
  }
}

test('a container that the runtime does not list is released, and one that it lists stays', async () => {
  const stage = new Stage('make p/a 2; make q/b 2').lists('q/b#1');
  await stage.comparison.compare();
  expect(stage.known).toEqual(['q/b#1']);
});

test('a runtime that cannot be asked releases nothing', async () => {
  const stage = new Stage('make p/a 2');
  stage.listing = new CpusetdError('UNAVAILABLE', 'no socket');
  await stage.comparison.compare();
  expect(stage.known).toEqual(['p/a#1']);
});

test('without a way to ask the runtime nothing is released', async () => {
  const stage = new Stage('make p/a 2', { canList: false }).lists();
  await stage.comparison.compare();
  expect(stage.known).toEqual(['p/a#1']);
});

test('an error that is not about the connection is thrown', async () => {
  const stage = new Stage('make p/a 2');
  stage.listing = new TypeError('an internal fault');
  await expect(stage.comparison.compare()).rejects.toThrow('an internal fault');
});

test('an unknown container is asked for when two lists in a row have it, and not when only one has', async () => {
  const stage = new Stage('make p/a 2').lists('p/a#1', 'x/y#1');
  await stage.comparison.compare();
  stage.lists('p/a#1', 'z/z#1');
  await stage.comparison.compare();
  expect(stage.resynchronized).toEqual([]);
  await stage.comparison.compare();
  expect(stage.resynchronized).toEqual([['z/z#1']]);
});
