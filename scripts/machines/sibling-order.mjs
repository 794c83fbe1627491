// Makes the kernel number the threads of a core far apart (0 and N/2), as most real machines do.
//
// Linux numbers CPUs in the order of the ACPI table MADT, and QEMU always lists siblings side by side. So the kernel is
// given its own MADT through the initrd ("ACPI table upgrade": kernel/firmware/acpi/*.aml in an uncompressed cpio,
// taken when its revision is higher than that of the firmware's).
import { packCpio } from './cpio.mjs';
import { cpuNumber } from './machine.mjs';

/** @import { BootMachine } from './qemu-arguments.mjs' */
/** @typedef {{ number: number, uid: number, apicId: number }} Thread */

/**
 * The initrd with the MADT of a machine.
 * @param {BootMachine} machine
 * @returns {Buffer} an initrd with nothing else in it
 */
export function packSiblingOrder(machine) {
  return packCpio({ 'kernel/firmware/acpi/apic.aml': formatMadt(listThreads(machine)) });
}

/**
 * All threads in the order the kernel shall number them, each with QEMU's number and its APIC id.
 * @param {BootMachine} machine
 */
function listThreads(machine) {
  const { sockets, cores, threads, cachesPerSocket = 1 } = machine;
  /** @param {number} values */
  const bits = (values) => Math.ceil(Math.log2(values));
  const perModule = cores / cachesPerSocket;
  /** @type {Thread[]} */
  const all = [];
  for (let core = 0; core < sockets * cores; core++) {
    for (let thread = 0; thread < threads; thread++) {
      const inSocket = core % cores;
      let apicId = Math.floor(core / cores);
      apicId = (apicId << bits(cachesPerSocket)) | Math.floor(inSocket / perModule);
      apicId = (apicId << bits(perModule)) | (inSocket % perModule);
      apicId = (apicId << bits(threads)) | thread;
      all.push({ number: cpuNumber(machine, core, thread), uid: core * threads + thread, apicId });
    }
  }
  return all.sort((a, b) => a.number - b.number);
}

/**
 * ACPI specification, 5.2.12 "Multiple APIC Description Table". Everything but the CPUs is as QEMU's q35 has it.
 * @param {Thread[]} threads
 */
function formatMadt(threads) {
  /** @param {number} value */
  const u32 = (value) => [value & 255, (value >> 8) & 255, (value >> 16) & 255, (value >>> 24) & 255];
  const body = [
    ...u32(0xfee00000), // address of the local APICs
    ...u32(1), // there are 8259s as well
    ...threads.flatMap(({ uid, apicId }) => [0, 8, uid, apicId, ...u32(1)]),
    ...[1, 12, 0, 0, ...u32(0xfec00000), ...u32(0)], // the I/O APIC
    ...[2, 10, 0, 0, ...u32(2), 0, 0], // the timer's interrupt 0 comes in at 2
    ...[5, 9, 10, 11].flatMap((irq) => [2, 10, 0, irq, ...u32(irq), 0x0d, 0]), // PCI: active high, level
    ...[4, 6, 255, 0, 0, 1], // every CPU's NMI
  ];
  const length = 36 + body.length;
  const header = Buffer.alloc(36);
  header.write('APIC', 0);
  header.writeUInt32LE(length, 4);
  header[8] = 3;
  header.write('BOCHS BXPC    ', 10); // an upgrade has to be of the same make
  header.writeUInt32LE(2, 24);
  header.write('BXPC', 28);
  header.writeUInt32LE(1, 32);
  const table = Buffer.concat([header, Buffer.from(body)]);
  table[9] = -table.reduce((sum, byte) => sum + byte, 0) & 255; // all bytes add up to 0
  return table;
}
