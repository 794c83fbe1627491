// The choice of the steps that start next. Pure: no step is started here.

/** @typedef {Pick<import('./steps.mjs').Step, 'name' | 'needs' | 'cpus' | 'memoryGiB'>} Candidate */
/** @typedef {{ cpus: number, memoryGiB: number }} Room */

/**
 * Chooses the steps that start now, in their order: those that have all that they need, as long as there is room. One
 * without room does not stop those behind it, so that no CPU is idle. What is too large for the whole machine runs
 * alone.
 * @template {Candidate} Step
 * @param {readonly Step[]} waiting
 * @param {readonly Candidate[]} running
 * @param {ReadonlySet<string>} succeeded the names of steps that ended well
 * @param {Room} machine
 * @returns {Step[]}
 */
export function chooseSteps(waiting, running, succeeded, machine) {
  const left = running.reduce((room, step) => subtract(room, takes(step, machine)), machine);
  /** @type {Step[]} */
  const chosen = [];
  let room = left;
  for (const step of waiting) {
    if (!(step.needs ?? []).every((name) => succeeded.has(name))) continue;
    const after = subtract(room, takes(step, machine));
    if (after.cpus < 0 || after.memoryGiB < 0) continue;
    chosen.push(step);
    room = after;
  }
  return chosen;
}

/**
 * The room that a step takes, which is at most the whole machine.
 * @param {Candidate} step
 * @param {Room} machine
 * @returns {Room}
 */
const takes = ({ cpus = Infinity, memoryGiB = 1 }, machine) => ({
  cpus: Math.min(cpus, machine.cpus),
  memoryGiB: Math.min(memoryGiB, machine.memoryGiB),
});

/** @param {Room} room @param {Room} taken */
const subtract = (room, taken) => ({ cpus: room.cpus - taken.cpus, memoryGiB: room.memoryGiB - taken.memoryGiB });
