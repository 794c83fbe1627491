import type { NodeView } from '../../core/model/node-view';
import { captureBaseline, compareListing, planChanges, type RuntimeListing } from '../../core/transition';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';
import { ListingLog } from './listing-log';

/** The runtime, as far as the reconciler needs it. */
export interface ListedRuntime {
  /** Returns complete lists; absent when there is no way to ask. Rejects when the runtime could not be asked. */
  readonly list?: () => Promise<RuntimeListing>;
  /** Makes the runtime describe running containers that it did not report. */
  readonly resynchronize: (containerIds: readonly string[]) => void;
}

/**
 * A creation that takes longer is stale. The kubelet gives up after two minutes, and no runtime takes nearly as long as
 * this.
 */
const STALE_MS = 10 * 60_000;

/** Finds creations whose end was never reported: the answer to one was lost, or the runtime forgot it. */
class StaleCreations {
  private seenAtMs = new Map<string, number>();

  /** Returns the ids of the creations that are stale. Call it in every round. */
  find({ containers }: NodeView, nowMs: number): ReadonlySet<string> {
    const creating = [...containers.values()].filter(({ phase }) => phase === 'creating');
    this.seenAtMs = new Map(creating.map(({ id }) => [id, this.seenAtMs.get(id) ?? nowMs]));
    return new Set([...this.seenAtMs].flatMap(([id, atMs]) => (nowMs - atMs >= STALE_MS ? [id] : [])));
  }
}

/** Compares the model with the runtime's lists, once in every round. */
export class RuntimeComparison {
  private readonly stale = new StaleCreations();
  private readonly listingLog: ListingLog;
  private unknownContainers: ReadonlySet<string> = new Set();

  constructor(
    private readonly parts: {
      readonly context: DaemonContext;
      readonly transactor: Transactor;
      readonly runtime: ListedRuntime;
    },
  ) {
    this.listingLog = new ListingLog(parts.context);
  }

  async compare(): Promise<void> {
    const { context, transactor, runtime } = this.parts;
    const { model } = context;
    const askedMs = performance.now();
    // A runtime that can't be asked reports every end by itself.
    if (!runtime.list) {
      context.cgroups.finder.confirm(askedMs);
      return;
    }
    const before = captureBaseline(model);
    const stale = this.stale.find(model, performance.now());
    let listing: RuntimeListing;
    try {
      listing = await runtime.list();
    } catch (error) {
      // An incomplete list releases nothing; the next round asks again.
      this.listingLog.failed(error);
      return;
    }
    this.listingLog.worked();
    let unknown: readonly string[] = [];
    transactor.change((draft) => {
      unknown = compareListing(draft, listing, before, stale);
      return planChanges(draft);
    });
    context.cgroups.finder.confirm(askedMs);
    // A container that is unknown twice in a row was not just being made when the list was taken.
    const lasting = unknown.filter((id) => this.unknownContainers.has(id));
    this.unknownContainers = new Set(unknown);
    if (lasting.length > 0) runtime.resynchronize(lasting);
  }
}
