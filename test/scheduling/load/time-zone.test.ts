import fc from 'fast-check';
import { TimeZone, UnknownTimeZone } from '../../../src/scheduling/load/time-zone';

const shanghai = TimeZone.of('Asia/Shanghai');
const berlin = TimeZone.of('Europe/Berlin');

test.each`
  zone               | iso                       | stamp
  ${'Asia/Shanghai'} | ${'2023-03-01T02:00:00Z'} | ${'2023-03-01T10:00:00Z'}
  ${'UTC'}           | ${'2023-03-01T10:00:00Z'} | ${'2023-03-01T10:00:00Z'}
  ${''}              | ${'2023-03-01T10:00:00Z'} | ${'2023-03-01T10:00:00Z'}
  ${'Europe/Berlin'} | ${'2023-01-01T11:00:00Z'} | ${'2023-01-01T12:00:00Z'}
  ${'Europe/Berlin'} | ${'2023-07-01T10:00:00Z'} | ${'2023-07-01T12:00:00Z'}
  ${'Asia/Kolkata'}  | ${'2023-03-01T18:30:00Z'} | ${'2023-03-02T00:00:00Z'}
  ${'Asia/Kolkata'}  | ${'2023-03-01T18:29:59Z'} | ${'2023-03-01T23:59:59Z'}
`('given $iso in the zone "$zone": the stamp $stamp, which is read back', ({ zone, iso, stamp }: Row) => {
  expect(TimeZone.of(zone).format(Date.parse(iso))).toBe(stamp);
  expect(TimeZone.of(zone).parse(stamp)).toBe(Date.parse(iso));
});
interface Row {
  zone: string;
  iso: string;
  stamp: string;
}

// As `time.ParseInLocation` of Go 1.26 answers.
test.each`
  name                                            | stamp                         | iso
  ${'a local time that is skipped in spring'}     | ${'2023-03-26T02:30:00Z'}     | ${'2023-03-26T01:30:00Z'}
  ${'a local time that comes twice in autumn'}    | ${'2023-10-29T02:30:00Z'}     | ${'2023-10-29T01:30:00Z'}
  ${'the last second before summer time'}         | ${'2023-03-26T01:59:59Z'}     | ${'2023-03-26T00:59:59Z'}
  ${'the first second of summer time'}            | ${'2023-03-26T03:00:00Z'}     | ${'2023-03-26T01:00:00Z'}
  ${'an hour of one digit'}                       | ${'2023-01-01T2:30:00Z'}      | ${'2023-01-01T01:30:00Z'}
  ${'a fraction of a second, which Go accepts'}   | ${'2023-01-01T12:00:00.25Z'}  | ${'2023-01-01T11:00:00.250Z'}
  ${'a fraction after a comma, which Go accepts'} | ${'2023-01-01T12:00:00,5Z'}   | ${'2023-01-01T11:00:00.500Z'}
  ${'29 February of a leap year'}                 | ${'2024-02-29T12:00:00Z'}     | ${'2024-02-29T11:00:00Z'}
  ${'29 February of another year'}                | ${'2023-02-29T12:00:00Z'}     | ${undefined}
  ${'month 13'}                                   | ${'2023-13-01T12:00:00Z'}     | ${undefined}
  ${'hour 24'}                                    | ${'2023-01-01T24:00:00Z'}     | ${undefined}
  ${'second 60'}                                  | ${'2023-01-01T12:00:60Z'}     | ${undefined}
  ${'an offset instead of the letter'}            | ${'2023-01-01T12:00:00+0100'} | ${undefined}
  ${'no letter'}                                  | ${'2023-01-01T12:00:00'}      | ${undefined}
  ${'a space before it'}                          | ${' 2023-01-01T12:00:00Z'}    | ${undefined}
  ${'a text of another kind'}                     | ${'yesterday'}                | ${undefined}
`('given $name in Berlin: $iso', ({ stamp, iso }: { stamp: string; iso: string | undefined }) => {
  expect(berlin.parse(stamp)).toBe(iso === undefined ? undefined : Date.parse(iso));
});

test.each`
  zone                     | stamp                     | iso
  ${'America/New_York'}    | ${'2023-03-12T02:30:00Z'} | ${'2023-03-12T06:30:00Z'}
  ${'America/New_York'}    | ${'2023-11-05T01:30:00Z'} | ${'2023-11-05T05:30:00Z'}
  ${'Australia/Lord_Howe'} | ${'2023-10-01T02:15:00Z'} | ${'2023-09-30T15:45:00Z'}
  ${'Australia/Lord_Howe'} | ${'2023-04-02T01:45:00Z'} | ${'2023-04-01T15:15:00Z'}
`('given $stamp in $zone, where the clock is changed: $iso, as in Go', ({ zone, stamp, iso }: Row) => {
  expect(TimeZone.of(zone).parse(stamp)).toBe(Date.parse(iso));
});

test('given any time in a zone without summer time: its stamp is read as that second', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => {
      expect(shanghai.parse(shanghai.format(seconds * 1_000 + 999))).toBe(seconds * 1_000);
    }),
  );
});

test.each(['Mars/Phobos', 'CET-1CEST', ':Europe/Berlin', 'x'.repeat(500)])(
  'given the zone %s, which is unknown: an error that says what to write',
  (name) => {
    expect(() => TimeZone.of(name)).toThrow(UnknownTimeZone);
    expect(() => TimeZone.of(name)).toThrow(/IANA/);
  },
);

test.each`
  zone                   | changes
  ${'UTC'}               | ${false}
  ${'Asia/Shanghai'}     | ${false}
  ${'Asia/Kolkata'}      | ${false}
  ${'Europe/Berlin'}     | ${true}
  ${'America/New_York'}  | ${true}
  ${'Africa/Casablanca'} | ${true}
`('the clocks of $zone are changed in the year: $changes', ({ zone, changes }: { zone: string; changes: boolean }) => {
  for (let month = 0; month < 12; month++)
    expect(TimeZone.of(zone).changesClocksAfter(Date.UTC(2026, month, 15))).toBe(changes);
});

test('given a zone with summer time: in the hour that comes twice a figure just written counts as one hour old, or as of the next hour (as crane-scheduler has it); in UTC it does not', () => {
  const readAgeMs = (name: string, ms: number): number => {
    const zone = TimeZone.of(name);
    return ms - zone.parse(zone.format(ms))!;
  };
  const hourMs = 3_600_000;
  const inTheSecondHour = Date.parse('2026-11-01T06:30:00Z'); // New York: 01:30 for the second time
  expect(readAgeMs('America/New_York', inTheSecondHour)).toBe(hourMs);
  expect(readAgeMs('America/New_York', inTheSecondHour + hourMs)).toBe(0);
  const inTheFirstHour = Date.parse('2026-10-25T00:30:00Z'); // Berlin: 02:30 for the first time
  expect(readAgeMs('Europe/Berlin', inTheFirstHour)).toBe(-hourMs);
  for (const ms of [inTheFirstHour, inTheSecondHour]) expect(readAgeMs('UTC', ms)).toBe(0);
});
