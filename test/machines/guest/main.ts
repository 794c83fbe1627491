// Runs the claims inside a machine, with cpusetd.js, machine.json and packages.json beside it. Its exit status is 0
// when all claims ran, also when some do not hold.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim, ClaimOutcome } from '../claim';
import { claims } from '../claims';
import type { Machine } from '../machine';
import { GuestContext, UsualDaemon } from './context';
import { type GuestRuntime, startGuestRuntime } from './guest-runtime';
import { guestPatienceMs } from './patience';
import { openResults } from './results';

const readJson = (file: string): unknown => JSON.parse(readFileSync(`/in/${file}`, 'utf8'));
const secondsUp = (): number => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
const claimLimitMs = 3 * guestPatienceMs;

async function main(): Promise<void> {
  console.log(`[${secondsUp()}] handed in`);
  const report = openResults();
  const { machine, only } = readJson('machine.json') as { machine: Machine; only: readonly string[] };
  for (const cpu of parseCpuList(machine.offline)) writeFileSync(`/sys/devices/system/cpu/cpu${cpu}/online`, '0');

  const runtime = await startGuestRuntime(machine, readJson('packages.json') as Record<string, string>);
  const kernel = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();
  report({ event: 'booted', kernel, runtime: await runtime.version(), seconds: secondsUp() });

  const usual = new UsualDaemon();
  for (const claim of claims) {
    if (!claim.when(machine)) continue;
    if (only.length > 0 && !only.includes(claim.name)) continue;
    console.log(`[${secondsUp()}] ${claim.name}`);
    report({ event: 'claim', ...(await prove(claim, machine, runtime, usual)) });
  }
  report({ event: 'end' });
}

async function prove(claim: Claim, machine: Machine, runtime: GuestRuntime, usual: UsualDaemon): Promise<ClaimOutcome> {
  const start = performance.now();
  const context = new GuestContext(machine, runtime, usual);
  let error = await failureOf(() => claim.run(context));
  const untidy = await failureOf(() => context.end());
  error ??= untidy && `could not be tidied up: ${untidy}`;
  if (error !== undefined) console.log([error, ...context.logs(), runtime.lastWords(60)].join('\n'));
  if (error !== undefined) await usual.end(); // the next claim starts another
  const { expectedLater } = claim;
  return {
    claim: claim.name,
    outcome:
      expectedLater === undefined
        ? error === undefined
          ? 'holds'
          : 'broken'
        : error === undefined
          ? 'holds-already'
          : 'later',
    saw: context.saw,
    ...(error !== undefined && { error }),
    durationMs: Math.round(performance.now() - start),
  };
}

async function failureOf(work: () => Promise<void>): Promise<string | undefined> {
  const timer = AbortSignal.timeout(claimLimitMs);
  const late = new Promise<never>((_, reject) =>
    timer.addEventListener('abort', () => reject(new Error(`not done after ${claimLimitMs / 1000} s`))),
  );
  try {
    await Promise.race([work(), late]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

main().then(
  () => process.exit(0), // containerd is a child process; the machine ends it
  (error: unknown) => {
    console.log(error);
    process.exit(1);
  },
);
