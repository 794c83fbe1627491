// Loaded into the daemon: at SIGUSR2 its clock is stepped back by a day, at the next one on by two. The clock of the
// machine is everybody's, and Date is all that the daemon knows of it.
const RealDate = Date;
const DAY_MS = 86_400_000;
let offsetMs = 0;

/** @type {any} */
const SteppedDate = class extends RealDate {
  /** @param {any} args */
  constructor(...args) {
    super(.../** @type {[any]} */ (args.length === 0 ? [RealDate.now() + offsetMs] : args));
  }
  /** @override */
  static now() {
    return RealDate.now() + offsetMs;
  }
};
globalThis.Date = SteppedDate;
process.on('SIGUSR2', () => {
  offsetMs = offsetMs < 0 ? DAY_MS : -DAY_MS;
});
