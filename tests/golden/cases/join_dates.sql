-- streams: orders, invoices. DATE time, days as the unit.
SELECT o.k, i.v FROM orders o, invoices i WHERE o.k = i.k AND i.day BETWEEN o.day AND o.day + INTERVAL '30' DAYS
