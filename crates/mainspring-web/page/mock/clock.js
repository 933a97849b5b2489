// Civil times for the mock server, by the zone data of node; and numbers that look random and are not.

/** @type {Map<string, Intl.DateTimeFormat>} */
const formatters = new Map();
/** @type {Map<string, number>} */
const offsets = new Map();

/** The offset of a zone at an instant, in ms. @param {string} zone @param {number} at */
export function offset(zone, at) {
  const quarter = Math.floor(at / 900_000);
  const key = `${zone} ${quarter}`;
  let found = offsets.get(key);
  if (found === undefined) {
    let formatter = formatters.get(zone);
    if (formatter === undefined) {
      formatter = new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        hourCycle: "h23",
        year: "numeric",
        month: "2-digit",
        day: "2-digit",
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit"
      });
      formatters.set(zone, formatter);
    }
    const start = quarter * 900_000;
    const part = Object.fromEntries(
      formatter.formatToParts(start).map(({ type, value }) => [type, Number(value)])
    );
    const local = Date.UTC(
      part.year ?? 0,
      (part.month ?? 1) - 1,
      part.day,
      part.hour,
      part.minute,
      part.second
    );
    found = local - start;
    offsets.set(key, found);
  }
  return found;
}

/** RFC 3339 without needless parts of a second. @param {number} at */
export function instant(at) {
  return new Date(at).toISOString().replace(".000Z", "Z");
}

/** RFC 9557. @param {number} at @param {string} zone */
export function civil(at, zone) {
  const ms = offset(zone, at);
  const local = new Date(at + ms).toISOString().replace(/(\.000)?Z$/, "");
  const minutes = Math.abs(ms) / 60_000;
  const two = (/** @type {number} */ count) => String(Math.floor(count)).padStart(2, "0");
  return `${local}${ms < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}[${zone}]`;
}

/** The civil date and time of an instant, as if it were UTC. @param {number} at @param {string} zone */
export function local(at, zone) {
  return new Date(at + offset(zone, at));
}

/** Civil times beside the instants of an object.
 * @param {Record<string, any>} of @param {string} zone @param {string[]} names */
export function civils(of, zone, names) {
  return Object.fromEntries(
    names.filter((name) => of[name]).map((name) => [name, civil(Date.parse(of[name]), zone)])
  );
}

/** A number from 0 to 1 that belongs to a text: FNV-1a. @param {string} text */
export function chance(text) {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 12)) >>> 0) / 2 ** 32;
}
