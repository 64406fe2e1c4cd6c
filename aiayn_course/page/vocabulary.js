// From text to ids and back: symbols between spaces, or pieces as SentencePiece cuts them.

/** How a page of this task reads and writes: {source(text), text(ids)}. */
export function vocabulary_of(task) {
  if (task.scores) return new Pieces(task);
  return task.characters ? new Characters(task) : new Symbols(task);
}

/** A number below a million in English; `answers` has those below 1000. undefined for others. */
export function in_english(german, answers) {
  const [low, high, more] = german.split(/(?:^| )tausend(?: |$)/).reverse();
  const known = (words) => (Object.hasOwn(answers, words) ? answers[words] : undefined);
  if (high === undefined) return known(german);
  const thousands = !/eins$|null/.test(high) && known(high.replace(/ein$/, "eins"));
  if (!thousands || more !== undefined || low === "null" || (low && !known(low))) return undefined;
  const join = low && (/hundred/.test(known(low)) ? ", " : " and ");
  return `${thousands} thousand${join}${known(low) ?? ""}`;
}

/** The ids before the end of a sequence. */
const until = (eos, ids) => (ids.includes(eos) ? ids.slice(0, ids.indexOf(eos)) : ids);

/** Symbols such as "3 1 4"; single signs also as "314" or "3,1,4". `unknown` has the others. */
class Symbols {
  constructor({ tokens, pad, bos, eos }) {
    Object.assign(this, { tokens, pad, bos, eos });
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    for (const id of [pad, bos, eos]) this.ids.delete(tokens[id]);
    this.signs = [...this.ids.keys()].every((token) => [...token].length === 1);
  }

  /** The symbols of a text: a word of known signs is cut into them. */
  cut(text) {
    text = text.normalize("NFKC"); // a Chinese keyboard types full-width digits
    if (!this.signs) return text.split(/\s+/).filter(Boolean);
    return text
      .split(/[\s,、]+/)
      .filter(Boolean)
      .flatMap((word) => ([...word].every((sign) => this.ids.has(sign)) ? [...word] : word));
  }

  source(text) {
    const words = this.cut(text);
    const unknown = words.filter((word) => !this.ids.has(word));
    const ids = words.filter((word) => this.ids.has(word)).map((word) => this.ids.get(word));
    return { ids: [...ids, this.eos], unknown };
  }

  text(ids) {
    const kept = until(this.eos, ids).filter((id) => id !== this.pad);
    return kept.map((id) => this.tokens[id]).join(" ");
  }
}

/** The characters of a text; the place of one in the list is its id. */
class Characters {
  constructor({ characters }) {
    this.characters = [...characters];
    this.ids = new Map(this.characters.map((character, id) => [character, id]));
  }

  source(text) {
    const [known, unknown] = [[], []];
    for (const sign of text) (this.ids.has(sign) ? known : unknown).push(sign);
    return { ids: known.map((sign) => this.ids.get(sign)), unknown };
  }

  text(ids) {
    return ids.map((id) => this.characters[id]).join("");
  }
}

const SPACE = "▁";

/** Pieces of a byte-pair encoding: the pair whose piece has the highest score is joined first. */
class Pieces {
  constructor({ pieces, scores, unk, eos, pad, bos, add_dummy_prefix, remove_extra_whitespaces }) {
    Object.assign(this, { pieces, scores, unk, eos, pad, bos });
    Object.assign(this, { add_dummy_prefix, remove_extra_whitespaces });
    this.strips = add_dummy_prefix || remove_extra_whitespaces; // the space that begins a line
    this.ids = new Map(pieces.map((piece, id) => [piece, id]));
    for (const id of [unk, eos, pad, bos]) this.ids.delete(pieces[id]);
    this.is_lower = ![...this.ids.keys()].some((piece) => /\p{Lu}/u.test(piece));
  }

  source(text) {
    if (this.is_lower) text = text.toLowerCase(); // it has no capitals
    const ids = [];
    const unknown = [];
    let before_unknown = false;
    for (const piece of this.cut(this.normalised(text))) {
      const id = this.ids.get(piece);
      if (id === undefined) {
        const text = piece.replaceAll(SPACE, " ");
        unknown.push(before_unknown ? unknown.pop() + text : text); // "42" and not "4 2"
      }
      if (id !== undefined || !before_unknown) ids.push(id ?? this.unk); // a run of unknowns is one
      before_unknown = id === undefined;
    }
    return { ids: [...ids, this.eos], unknown };
  }

  /** Spaces as SentencePiece writes them. */
  normalised(text) {
    let line = text.replace(/\p{Surrogate}/gu, "\ufffd");
    if (this.remove_extra_whitespaces) line = line.replace(/^ +| +$/g, "").replace(/ +/g, " ");
    if (line && this.add_dummy_prefix) line = ` ${line}`;
    return line.replaceAll(" ", SPACE);
  }

  cut(line) {
    const parts = [...line];
    for (;;) {
      let [best, place] = [-Infinity, -1];
      for (let i = 0; i + 1 < parts.length; i++) {
        const id = this.ids.get(parts[i] + parts[i + 1]);
        if (id !== undefined && this.scores[id] > best) [best, place] = [this.scores[id], i];
      }
      if (place < 0) return parts;
      parts.splice(place, 2, parts[place] + parts[place + 1]);
    }
  }

  text(ids) {
    const kept = until(this.eos, ids).filter((id) => id !== this.pad && id !== this.bos);
    let [line, at_start] = ["", true];
    for (const id of kept) {
      const piece = id === this.unk ? " ⁇ " : this.pieces[id];
      const strip = at_start && this.strips && piece.startsWith(SPACE);
      line += (strip ? piece.slice(1) : piece).replaceAll(SPACE, " ");
      at_start &&= !line && !(strip && !this.remove_extra_whitespaces);
    }
    return line;
  }
}
