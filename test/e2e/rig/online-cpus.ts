import { readFileSync } from 'node:fs';

/** The online CPUs of the machine that the tests run on, as the kernel lists them. */
export const onlineCpus = readFileSync('/sys/devices/system/cpu/online', 'utf8').trim();

/** The highest CPU. It is also the number of CPUs that can be exclusive when CPU 0 is reserved. */
export const lastCpu = Number(onlineCpus.split(/[-,]/).pop());

/** All CPUs but CPU 0: on the smallest machine, one CPU. */
export const exclusiveList = lastCpu === 1 ? '1' : `1-${lastCpu}`;
