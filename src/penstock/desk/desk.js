"use strict";
(function () {
  let state = null;
  let busy = false;
  let everything = false;
  let epsilon = "1";
  const opened = new Set();
  const byId = function (id) { return document.getElementById(id); };

  // Everything that is shown is text: no label of anybody's data can become markup.
  function make(tag, facts, children) {
    const found = document.createElement(tag);
    Object.entries(facts || {}).forEach(function ([key, value]) {
      if (key === "text") found.textContent = value;
      else if (key === "click") found.addEventListener("click", value);
      else if (key === "class") found.className = value;
      else if (value === true) found.setAttribute(key, "");
      else if (value !== false && value !== undefined) found.setAttribute(key, value);
    });
    (children || []).forEach(function (child) { if (child) found.append(child); });
    return found;
  }

  function button(words, click, strong) {
    return make("button", { type: "button", text: words, class: strong ? "strong" : "", click: click });
  }

  function labelled(words, input) { return make("label", { text: words }, [input]); }

  async function send(path, body) {
    if (busy) return;
    busy = true;
    const place = document.activeElement ? document.activeElement.id : "";
    try {
      const answer = await fetch(path, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
      });
      if (answer.headers.get("content-type") !== "application/json") throw new Error(await answer.text());
      show(await answer.json());
    } catch (problem) {
      complain("The desk does not answer: " + problem.message);
    } finally {
      busy = false;
      const again = place && byId(place);
      if (again) again.focus({ preventScroll: true });
    }
  }

  function act(action) {
    return send("act", { action: action, words: Array.from(arguments).slice(1) });
  }

  function complain(words) {
    const place = byId("problem");
    place.textContent = words || "";
    place.hidden = !words;
    if (words) place.scrollIntoView({ block: "center" });
  }

  function texts(input) {
    return input.value.split(",").map(function (word) { return word.trim(); }).filter(Boolean);
  }

  function card(facts, index) {
    const id = "card-" + index;
    const done = !facts.waiting;
    const title = facts.shape === "unit" ? "Who is protected" : facts.name;
    const confirm = done
      ? button("Look at it again", function () { act("reopen", facts.name); })
      : button("Confirm", function () { act("confirm", facts.name); }, true);
    confirm.id = id + "-confirm";
    const row = make("div", { class: "row" }, [confirm]);
    if (!done && facts.actions.includes("widen")) row.append(quick(id, "Widen", "widen", facts));
    if (!done && facts.actions.includes("round")) row.append(quick(id, "Round", "round", facts));
    if (facts.actions.includes("leave-out")) row.append(quick(id, "Leave out", "leave-out", facts));
    const lines = [
      make("div", { class: "top" }, [
        make("h2", { text: title, id: id + "-title" }),
        make("span", { class: "type", text: [facts.title, facts.type].filter(Boolean).join(" · ") }),
        make("span", { class: "badge", text: done ? "confirmed" : "to review" }),
      ]),
      make("p", { class: "says", text: facts.values.length ? facts.values.length + facts.more_values + " categories" : facts.domain }),
    ];
    if (facts.source) lines.push(make("p", { class: "hint", text: facts.source }));
    if (!done) {
      const why = facts.why.map(function (words) { return make("p", { text: words }); });
      const read = facts.read.length
        ? make("p", {}, [make("strong", { text: "Read off the data: " }), facts.read.join(", ") + "."]) : null;
      lines.push(make("div", { class: "why" }, [read].concat(why)));
      facts.hints.forEach(function (words) { lines.push(make("p", { class: "hint", text: words })); });
    }
    if (facts.actions.includes("merge") && facts.values.length) lines.push(categories(facts, id));
    lines.push(row);
    lines.push(facts.shape === "unit" ? unit(id) : more(facts, id));
    return make("article", {
      class: done ? "card done" : "card", id: id, tabindex: "-1", "aria-labelledby": id + "-title",
      "data-name": facts.name,
    }, lines);
  }

  function quick(id, words, action, facts) {
    const found = button(words, function () { act(action, facts.name); });
    found.id = id + "-" + action;
    found.setAttribute("aria-label", words + " " + facts.name);
    return found;
  }

  function categories(facts, id) {
    const boxes = facts.values.map(function (value) {
      return make("input", { type: "checkbox", value: value });
    });
    const chosen = function () {
      return boxes.filter(function (box) { return box.checked; }).map(function (box) { return box.value; });
    };
    const into = make("input", {
      type: "text", id: id + "-into", placeholder: "other", "aria-label": "Name of the merged category of " + facts.name,
    });
    const hint = make("p", { class: "hint", text: "Under a name of its own, the old names stay in the schema, which is public; in 'other' they are gone." });
    into.hidden = hint.hidden = true;
    const merge = button("Merge the ticked", function () {
      // said in any case, since a category may be called "into"
      if (chosen().length) act.apply(null, ["merge", facts.name].concat(chosen(), ["into", into.value.trim() || "other"]));
    });
    merge.id = id + "-merge";
    merge.disabled = true;
    boxes.forEach(function (box) {
      box.addEventListener("change", function () { merge.disabled = into.hidden = hint.hidden = chosen().length === 0; });
    });
    const list = make("div", { class: "values", role: "group", "aria-label": "Categories of " + facts.name },
      boxes.map(function (box) { return make("label", {}, [box, make("span", { text: box.value })]); }));
    const count = facts.more_values ? make("p", { class: "hint", text: "and " + facts.more_values + " more" }) : null;
    const told = facts.merged.map(function (words) { return make("p", { class: "hint", text: "Merged into " + words }); });
    return make("div", {}, [list, count].concat(told, [make("div", { class: "row" }, [merge, into]), hint]));
  }

  function remember(details, key) {
    details.open = opened.has(key);
    details.addEventListener("toggle", function () {
      if (details.open) opened.add(key); else opened.delete(key);
    });
    return details;
  }

  function more(facts, id) {
    const parts = [];
    if (facts.actions.includes("bounds")) {
      const low = make("input", { value: facts.low, class: "short", id: id + "-low" });
      const high = make("input", { value: facts.high, class: "short", id: id + "-high" });
      parts.push(make("div", { class: "row" }, [
        labelled("From", low), labelled("to", high),
        button("Set the bounds", function () { act("bounds", facts.name, low.value, high.value); }),
      ]));
    }
    if (facts.actions.includes("add")) {
      const value = make("input", { id: id + "-add" });
      parts.push(make("div", { class: "row" }, [
        labelled("A category that is missing", value),
        button("Add", function () { if (value.value) act("add", facts.name, value.value); }),
      ]));
    }
    const name = make("input", { value: facts.title, id: id + "-name" });
    parts.push(make("div", { class: "row" }, [
      labelled("Title in reports", name),
      button("Rename", function () { act("rename", facts.name, name.value); }),
    ]));
    const missing = choice(id + "-missing", ["value", "refuse"], facts.missing,
      { value: "may be missing", refuse: "is never missing" });
    const signs = make("input", { value: facts.signs.filter(Boolean).join(", "), id: id + "-signs" });
    parts.push(make("div", { class: "row" }, [
      labelled("A value", missing), labelled("Signs for it, with commas", signs),
      button("Set", function () { act.apply(null, ["missing", facts.name, missing.value].concat(texts(signs))); }),
    ]));
    const choices = facts.shape === "categorical" || facts.shape === "boolean"
      ? ["refuse", "other"] : ["refuse", "clamp", "other"];
    const outside = choice(id + "-outside", choices, facts.outside,
      { refuse: "stops the release", clamp: "becomes the nearest bound", other: "becomes 'other'" });
    outside.addEventListener("change", function () { act("outside", facts.name, outside.value); });
    parts.push(make("div", { class: "row" }, [labelled("A value outside", outside)]));
    return remember(make("details", { class: "more" },
      [make("summary", { text: "More to set" }), make("div", {}, parts)]), id);
  }

  function choice(id, values, chosen, words) {
    return make("select", { id: id }, values.map(function (value) {
      return make("option", { value: value, text: (words && words[value]) || value, selected: value === chosen });
    }));
  }

  function unit(id) {
    const facts = state.unit;
    const protects = choice(id + "-protects", facts.choices.map(function (each) { return each.name; }), facts.protects);
    const column = make("input", { value: facts.column, id: id + "-column" });
    const most = make("input", { value: facts.at_most, inputmode: "numeric", class: "short", id: id + "-most" });
    const beside = make("div", { class: "row" }, [
      labelled("told apart by the column", column), labelled("with at most so many records", most),
    ]);
    const fits = function () {
      const known = facts.choices.find(function (each) { return each.name === protects.value; });
      beside.hidden = !(known && (known.bounded || known.together));
    };
    protects.addEventListener("change", fits);
    fits();
    return make("div", { class: "row" }, [
      labelled("One", protects), beside,
      button("Set", function () {
        act.apply(null, ["unit", protects.value].concat(beside.hidden ? [] : [column.value, most.value]));
      }),
    ]);
  }

  function whole() {
    const target = choice("target", ["none"].concat(state.targets), state.target || "none", { none: "nothing" });
    target.addEventListener("change", function () { act("target", target.value); });
    const markers = make("input", { value: state.markers.join(", "), id: "markers" });
    const kind = choice("rule-kind", ["impossible", "always"], "impossible",
      { impossible: "can never be", always: "always holds" });
    const rule = make("input", { id: "rule", placeholder: "age < 15 and income > 0" });
    const rules = state.rules.map(function (each) {
      return make("li", {}, [
        make("span", { text: each.kind + ": " + each.words }),
        button("Take back", function () { act("drop-rule", each.kind, String(each.number)); }),
      ]);
    });
    return [
      state.targets.length ? make("div", { class: "part" }, [
        make("h3", { text: "What will others want to predict?" }), labelled("Target", target),
      ]) : null,
      make("div", { class: "part" }, [
        make("h3", { text: "What means that a value is missing?" }),
        labelled("Signs in all columns, with commas", markers),
        make("div", { class: "row" }, [button("Set", function () { act.apply(null, ["markers"].concat(texts(markers))); })]),
      ]),
      make("div", { class: "part" }, [
        make("h3", { text: "What is known about every record?" }),
        rules.length ? make("ul", { class: "rules" }, rules) : null,
        make("div", { class: "row" }, [labelled("This", kind), labelled("condition", rule)]),
        make("div", { class: "row" }, [
          button("Add the rule", function () { if (rule.value) act("rule", kind.value, rule.value); }),
        ]),
      ]),
    ];
  }

  function release() {
    const made = state.release;
    const parts = [];
    if (state.left.length) {
      parts.push(make("p", { text: state.left.length + " to review before anything can be released." }));
    } else if (made.state === "none") {
      parts.push(make("p", { text: "The schema is reviewed. Use it: penstock release DATA --schema " + state.file }));
    } else if (made.state === "running") {
      parts.push(make("p", { text: "Releasing …", role: "status" }));
    } else if (made.state === "done") {
      parts.push(make("p", { text: "Released: " + made.message, role: "status" }));
      parts.push(make("p", {}, [make("a", { href: "report", target: "_blank", rel: "noopener", id: "report", text: "Open its report" })]));
    } else {
      if (made.state === "failed") parts.push(make("p", { class: "problem", text: made.message }));
      parts.push(make("p", { text: "What may it cost? A smaller epsilon protects more and tells less." }));
      parts.push(make("div", { class: "choices", role: "radiogroup", "aria-label": "epsilon" },
        state.epsilons.map(function (each) {
          const box = make("input", { type: "radio", name: "epsilon", value: each, id: "epsilon-" + each });
          box.checked = each === epsilon;
          box.addEventListener("change", function () { epsilon = each; });
          return make("label", {}, [box, make("span", { text: "ε = " + each })]);
        })));
      const go = button("Release", function () { send("release", { epsilon: epsilon }).then(watch); }, true);
      go.id = "go";
      parts.push(make("div", { class: "row" }, [go]));
    }
    const finish = button("Close the desk", function () {
      fetch("finish", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).then(function () {
        byId("release").replaceChildren(make("p", { text: "The desk is closed; this page can be closed, too.", role: "status" }));
      });
    });
    finish.id = "finish";
    parts.push(make("div", { class: "row" }, [finish]));
    return parts;
  }

  async function watch() {
    while (state.release.state === "running") {
      await new Promise(function (next) { window.setTimeout(next, 300); });
      show(await (await fetch("state")).json());
    }
  }

  function show(found) {
    const said = found.problem;
    state = found;
    const left = state.left.length;
    document.title = (left ? left + " left · " : "Reviewed · ") + state.title;
    byId("title").textContent = state.title;
    byId("left").textContent = left ? left + " of " + state.total + " left to review" : "Nothing left to review";
    byId("progress").max = state.total;
    byId("progress").value = state.total - left;
    byId("undo").disabled = !state.can_undo;
    byId("next").disabled = !left;
    byId("only").textContent = everything ? "Only open ones" : "Show all";
    byId("only").setAttribute("aria-pressed", String(everything));
    byId("notes").hidden = !state.notes.length;
    byId("notes").querySelector("ul").replaceChildren.apply(byId("notes").querySelector("ul"),
      state.notes.map(function (words) { return make("li", { text: words }); }));
    const top = window.scrollY;
    byId("cards").replaceChildren.apply(byId("cards"), state.cards
      .map(function (facts, index) { return everything || facts.waiting ? card(facts, index) : null; })
      .filter(Boolean));
    byId("whole").replaceChildren.apply(byId("whole"), whole().filter(Boolean));
    byId("release").replaceChildren.apply(byId("release"), release());
    window.scrollTo({ top: top });
    complain(said);
    document.documentElement.dataset.left = String(left);
    document.documentElement.dataset.release = state.release.state;
  }

  byId("undo").addEventListener("click", function () { act("undo"); });
  byId("only").addEventListener("click", function () { everything = !everything; show(state); });
  byId("next").addEventListener("click", function () {
    const place = document.querySelector(".card:not(.done)");
    if (place) { place.scrollIntoView({ block: "start" }); place.focus({ preventScroll: true }); }
  });
  fetch("state").then(function (answer) { return answer.json(); }).then(function (found) { show(found); watch(); })
    .catch(function (problem) { complain("The desk does not answer: " + problem.message); });
})();
