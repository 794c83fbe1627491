import { setImmediate } from 'node:timers/promises';
import { CpusetdError } from '../../core/errors';
import { changeSettings, planChanges } from '../../core/transition';
import { nameOf, type Config, type LiveOptions, type Loaded, type LoadedConfig, type Proposal } from '../config';
import type { DecidedSettings, RunningSettings } from '../config/running-settings';
import type { ConfigInForce } from '../config/settings';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';

export interface ReloaderParts {
  readonly context: Pick<DaemonContext, 'model' | 'alarms' | 'events' | 'faults' | 'log' | 'signal'>;
  readonly transactor: Pick<Transactor, 'change'>;
  readonly options: LiveOptions;
  readonly rules: RunningSettings;
  /** Puts the options together, with the file as it is now. */
  readonly load: () => Promise<LoadedConfig>;
  /** Adds the kubelet's reservation where these options have none. */
  readonly withReservation: (config: Config) => ConfigInForce;
}

const RESERVING: readonly string[] = [nameOf('reservedCpus'), nameOf('reservedCpuCount')];

/**
 * Takes over changed options while the daemon runs. A file with a fault changes nothing and is an alarm. Of a good one
 * the options that can be changed live are taken over in one transaction, like every other change of the node; those
 * that need a restart are reported. Nothing that runs moves: new rules are for new containers, as after a restart.
 *
 * `qos-actions: off` is the kill switch. It is taken first and alone, so that no other option of the file holds it
 * back.
 */
export class Reloader {
  private running: Promise<void> | undefined;
  private isDue = false;
  /** The last options were right, and this node could not have them. */
  private isUnfit = false;

  constructor(private readonly parts: ReloaderParts) {}

  /** Reads the options again, one time after another. Never rejects. Calls while it reads lead to one more reading. */
  reload(): Promise<void> {
    this.isDue = true;
    this.running ??= this.run().finally(() => (this.running = undefined));
    return this.running;
  }

  /** The machine, or what the kubelet reserves, has changed: options that did not fit it are tried again. */
  retry(): Promise<void> {
    return this.isUnfit || this.running ? this.reload() : Promise.resolve();
  }

  private async run(): Promise<void> {
    const { faults, signal } = this.parts.context;
    while (this.isDue && !signal.aborted) {
      this.isDue = false;
      await faults.containAsync('reading the options again', () => this.once());
    }
  }

  private async once(): Promise<void> {
    const { options, load, context } = this.parts;
    const loaded = await load();
    if (context.signal.aborted) return;
    const off = loaded.switchOff && options.proposeOff(loaded.switchOff);
    if (off) {
      this.change(off);
      await this.emitChange(off);
    }
    this.isUnfit = false;
    if (!loaded.ok) {
      this.refuse(loaded.problems, off);
      return;
    }
    const proposal = options.propose(loaded);
    try {
      this.takeOver(proposal, this.rulesOf(proposal, loaded));
    } catch (error) {
      if (!(error instanceof CpusetdError)) throw error;
      this.isUnfit = true;
      this.refuse([error.message], off);
      return;
    }
    await this.emitChange(proposal);
  }

  /** The parts that follow options come after the line and the record of the change, which are made after answers. */
  private async emitChange({ changes }: Proposal): Promise<void> {
    const { context, options } = this.parts;
    await setImmediate();
    if (changes.length > 0) context.events.emit('optionsChanged', options.config);
    context.events.emit('changed');
  }

  /** Throws CpusetdError for options that this machine can't have. */
  private rulesOf({ config, changes }: Proposal, { placeOf }: Loaded): DecidedSettings | undefined {
    const { rules, withReservation, context } = this.parts;
    if (changes.length === 0) return undefined;
    const isReservedAnew = changes.some(({ option }) => RESERVING.includes(option));
    // The kubelet's reservation is adopted when it comes. One that could not be is no matter of the other options.
    const asked = isReservedAnew ? withReservation(config) : rules.keepReservation(config);
    return rules.decide(asked, context.model, placeOf);
  }

  private takeOver(proposal: Proposal, decided: DecidedSettings | undefined): void {
    const { options, context } = this.parts;
    const { alarms, log } = context;
    const { changes, pending } = proposal;
    const before = options.pending;
    this.change(proposal, decided);
    alarms.clear('config-refused', '');
    if (pending.length > 0 && JSON.stringify(pending) !== JSON.stringify(before))
      log.warn({ pending }, 'options were changed that need a restart: they are not in force');
    if (changes.length === 0 && pending.length === 0) log.info('the options were read again, and are those in force');
  }

  private change(proposal: Proposal, decided?: DecidedSettings): void {
    const { transactor, options, context } = this.parts;
    const { changes } = proposal;
    const isNew = decided && JSON.stringify(decided.settings) !== JSON.stringify(context.model.settings);
    if (changes.length > 0)
      transactor.change((draft) => {
        draft.report({ kind: 'settings-changed', changes });
        return isNew ? changeSettings(draft, decided.settings) : planChanges(draft);
      });
    decided?.take();
    options.take(proposal);
  }

  private refuse(problems: readonly string[], off: Proposal | undefined): void {
    const { alarms, events } = this.parts.context;
    const effect = off ? 'only qos-actions was switched off' : 'nothing was changed';
    alarms.update(
      'config-refused',
      '',
      `the options were read again and can't be taken, so ${effect}: ${problems.join('; ')}`,
    );
    events.emit('changed');
  }
}
